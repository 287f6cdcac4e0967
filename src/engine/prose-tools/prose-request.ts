import type { Item, Message } from '../../canonical/item.ts';
import type { Path } from '../../canonical/path.ts';
import { isForced, type Tool, type ToolChoice } from '../../canonical/tool.ts';
import type { TurnRequest } from '../../canonical/turn-request.ts';
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
  /** Which of the client's tools are declared as they are. */
  readonly #hosted: readonly number[];
  /** The tools that the model is told of. */
  readonly tools: readonly ProseTool[];

  constructor(request: TurnRequest, options: ProseOptions) {
    this.#request = request;
    this.#options = options;
    this.#history = proseHistory(request.items);
    this.#hosted = request.tools.flatMap((tool, index) => (isProse(tool) ? [] : [index]));
    this.tools = proseTools(request.tools, request.toolChoice);
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

  async write(): Promise<TurnRequest> {
    const items = await writeHistory(this.#history, this.#request.items);
    const { toolChoice } = this.#request;
    const text =
      this.tools.length === 0 ? '' : await proseInstructions(this.tools, toolChoice, this.#options.guide);
    return this.#around(items, text);
  }

  #around(items: readonly Item[], text: string): TurnRequest {
    const request = this.#request;
    const tools = request.tools.filter((tool) => !isProse(tool));
    return {
      ...request,
      // In one text with the instructions, these come behind.
      instructions: this.#joinsInstructions ? null : request.instructions,
      items: [...this.#front(text), ...items],
      tools,
      toolChoice: choiceAmong(tools, request.toolChoice),
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
    return texts.map((one) => ({ kind: 'message', role: 'developer', parts: [{ kind: 'text', text: one }] }));
  }

  /** A part of the request in prose → the part of the client's that it stands for; null: it stands for none. */
  ownPath(path: Path): Path | null {
    if (typeof path === 'string') return path;
    if ('tool' in path) return placed(this.#hosted[path.tool], (tool) => ({ tool }));
    if ('toolName' in path) return placed(this.#hosted[path.toolName], (toolName) => ({ toolName }));
    if ('include' in path) return path;
    const { imageDetail } = 'imageDetail' in path ? path : { imageDetail: null };
    const index = 'item' in path ? path.item : (imageDetail?.item ?? 0);
    const item = this.#history[index - this.#front('').length];
    if (item === undefined) return null;
    // The parts of a message that was written are not those of the client.
    if (imageDetail === null || item.written.length > 0) return { item: item.place };
    return { imageDetail: { ...imageDetail, item: item.place } };
  }
}

const placed = (index: number | undefined, path: (index: number) => Path): Path | null =>
  index === undefined ? null : path(index);

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
