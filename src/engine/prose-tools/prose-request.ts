import { choiceInstruction } from '../../canonical/request/forced-choice.ts';
import type { Item, Message } from '../../canonical/request/item.ts';
import type { Path } from '../../canonical/request/path.ts';
import { allTools, isForced, type Tool, type ToolChoice } from '../../canonical/request/tool.ts';
import type { Caller } from '../../canonical/context/turn-context.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { isProse, proseTools, type ProseTool } from './declared-tools.ts';
import { proseHistory, writeHistory, type ProseItem } from './history.ts';
import { proseInstructions } from './instructions.ts';
import type { ToolGuide } from './tool-guide.ts';

export interface ProseOptions {
  readonly guide: ToolGuide;
  /** `developer`: instructions and prompts become one text, in their order. */
  readonly instructionsTarget: 'base' | 'developer';
}

/** A request to a model that is told of its tools in prose: nothing of them is declared. */
export class ProseRequest {
  readonly #request: TurnRequest;
  readonly #options: ProseOptions;
  readonly #history: readonly ProseItem[];
  /** The tools that are declared as they are, and where the client has them. */
  readonly #declared: readonly (readonly [number, Tool])[];
  /** The tools that the model is told of. */
  readonly tools: readonly ProseTool[];

  constructor(request: TurnRequest, options: ProseOptions) {
    this.#request = request;
    this.#options = options;
    this.#history = proseHistory(request.items);
    const all = allTools(request);
    this.#declared = [...all.entries()].filter(([, tool]) => !isProse(tool));
    this.tools = proseTools(all, request.toolChoice);
  }

  /** Whether it says the same as the request of the client. */
  get isTheSame(): boolean {
    return this.tools.length === 0 && this.#history.every(({ written }) => written.length === 0);
  }

  /** The request without its texts: enough for a plan. */
  outline(): TurnRequest {
    return this.#around(
      this.#history.map(({ head }) => head),
      '',
    );
  }

  /** Throws the signal's reason once it is aborted. */
  async write(caller: Caller, signal: AbortSignal): Promise<TurnRequest> {
    const items = await writeHistory(this.#history, signal);
    const { toolChoice } = this.#request;
    const { guide } = this.#options;
    const text =
      this.tools.length === 0
        ? ''
        : await proseInstructions(this.tools, toolChoice, { guide, caller: caller.keyId, signal });
    return this.#around(items, text);
  }

  #around(items: readonly Item[], text: string): TurnRequest {
    const request = this.#request;
    const tools = this.#declared.map(([, tool]) => tool);
    const toolChoice = choiceAmong(tools, request.toolChoice);
    return {
      ...request,
      // In one text with the instructions, these come behind.
      instructions: this.#joinsInstructions ? null : request.instructions,
      items: [...this.#front(text), ...items, ...this.#reminder(toolChoice)],
      tools,
      toolChoice,
      parallelToolCalls: null,
    };
  }

  get #joinsInstructions(): boolean {
    return this.#options.instructionsTarget === 'developer' && this.tools.length > 0;
  }

  #front(text: string): readonly Message[] {
    if (this.tools.length === 0) return [];
    const { instructions } = this.#request;
    const texts = this.#joinsInstructions && instructions !== null ? [text, instructions] : [text];
    return texts.map(toldByDeveloper);
  }

  /** A choice that was not heeded is said again, at the end; of one that is still about declared tools others say it. */
  #reminder(left: ToolChoice): readonly Message[] {
    const { insists, toolChoice } = this.#request;
    return insists === true && !isForced(left) ? [toldByDeveloper(choiceInstruction(toolChoice))] : [];
  }

  /** A part of the request in prose → the part of the client's that it stands for; null: it stands for none. */
  ownPath(path: Path): Path | null {
    if (typeof path === 'string' || 'include' in path) return path;
    if ('tool' in path) {
      const [tool = Infinity] = this.#declared[path.tool] ?? [];
      // Others are brought along by an item.
      return tool < this.#request.tools.length ? { tool } : null;
    }
    if ('item' in path) {
      const item = this.#standsFor(path.item);
      return item === undefined ? null : { item: item.place };
    }
    if (!('imageDetail' in path)) return null;
    const item = this.#standsFor(path.imageDetail.item);
    if (item === undefined) return null;
    // The parts of a message that was written are not those of the client.
    return item.written.length > 0
      ? { item: item.place }
      : { imageDetail: { ...path.imageDetail, item: item.place } };
  }

  #standsFor(index: number): ProseItem | undefined {
    return this.#history[index - this.#front('').length];
  }
}

const toldByDeveloper = (text: string): Message => ({
  kind: 'message',
  role: 'developer',
  parts: [{ kind: 'text', text }],
});

/** What of a choice is about tools of the backend's. The rest is said in prose. */
const choiceAmong = (tools: readonly Tool[], choice: ToolChoice): ToolChoice => {
  if (tools.length === 0 || choice.mode === 'auto') return { mode: 'auto' };
  if (choice.mode === 'named') return choice.tool.kind === 'hosted' ? choice : { mode: 'none' };
  if (choice.mode !== 'allowed') return isForced(choice) ? { mode: 'auto' } : choice;
  const hosted = choice.tools.filter(({ kind }) => kind === 'hosted');
  if (hosted.length === 0) return { mode: 'none' };
  // One that is told in prose may be called instead.
  const required = choice.required && hosted.length === choice.tools.length;
  return { ...choice, required, tools: hosted };
};
