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

/** A request that describes the client's tools in prose instead of declaring them. */
export class ProseRequest {
  readonly #request: TurnRequest;
  readonly #options: ProseOptions;
  readonly #history: readonly ProseItem[];
  /** The tools that stay declared, each with its index in the client's list. */
  readonly #declared: readonly (readonly [number, Tool])[];
  /** The tools described in prose. */
  readonly tools: readonly ProseTool[];

  constructor(request: TurnRequest, options: ProseOptions) {
    this.#request = request;
    this.#options = options;
    this.#history = proseHistory(request.items);
    const all = allTools(request);
    this.#declared = [...all.entries()].filter(([, tool]) => !isProse(tool));
    this.tools = proseTools(all, request.toolChoice);
  }

  /** Whether it equals the request of the client. */
  get isTheSame(): boolean {
    return this.tools.length === 0 && this.#history.every(({ written }) => written.length === 0);
  }

  /** The request without its texts: enough for a plan. */
  outline(): TurnRequest {
    const heads = this.#history.map(({ head }) => head);
    return this.#around(heads, '');
  }

  /** Throws the signal's reason once it is aborted. */
  async write(caller: Caller, signal: AbortSignal): Promise<TurnRequest> {
    const items = await writeHistory(this.#history, signal);
    if (this.tools.length === 0) return this.#around(items, '');
    const by = { guide: this.#options.guide, caller: caller.keyId, signal };
    return this.#around(items, await proseInstructions(this.tools, this.#request.toolChoice, by));
  }

  #around(items: readonly Item[], text: string): TurnRequest {
    const request = this.#request;
    const tools = this.#declared.map(([, tool]) => tool);
    const toolChoice = choiceAmong(tools, request.toolChoice);
    return {
      ...request,
      // As part of one text, the instructions follow the tools.
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
    return texts.map(developerMessage);
  }

  /** Repeats a choice that the model ignored. The engine repeats a choice of declared tools. */
  #reminder(left: ToolChoice): readonly Message[] {
    const { insists, toolChoice } = this.#request;
    return insists === true && !isForced(left) ? [developerMessage(choiceInstruction(toolChoice))] : [];
  }

  /** The part of the client's request that a part of this request comes from; null: it has no source. */
  ownPath(path: Path): Path | null {
    if (typeof path === 'string' || 'include' in path) return path;
    if ('tool' in path) {
      const [tool = Infinity] = this.#declared[path.tool] ?? [];
      // Other tools come from an item.
      return tool < this.#request.tools.length ? { tool } : null;
    }
    if (!('item' in path) && !('imageDetail' in path)) return null;
    const index = 'item' in path ? path.item : path.imageDetail.item;
    const source = this.#history[index - this.#front('').length];
    if (source === undefined) return null;
    const { place: item, written } = source;
    // The parts of a rewritten message are not those of the client.
    return 'item' in path || written.length > 0 ? { item } : { imageDetail: { ...path.imageDetail, item } };
  }
}

const developerMessage = (text: string): Message => ({
  kind: 'message',
  role: 'developer',
  parts: [{ kind: 'text', text }],
});

/** The part of a choice that is about declared tools. The rest is described in prose. */
const choiceAmong = (tools: readonly Tool[], choice: ToolChoice): ToolChoice => {
  if (tools.length === 0 || choice.mode === 'auto') return { mode: 'auto' };
  if (choice.mode === 'named') return choice.tool.kind === 'hosted' ? choice : { mode: 'none' };
  if (choice.mode !== 'allowed') return isForced(choice) ? { mode: 'auto' } : choice;
  const hosted = choice.tools.filter(({ kind }) => kind === 'hosted');
  if (hosted.length === 0) return { mode: 'none' };
  // A tool described in prose may be called instead.
  const required = choice.required && hosted.length === choice.tools.length;
  return { ...choice, required, tools: hosted };
};
