import type { TurnEnded, TurnEvent, ItemDelta, Outcome } from '../../../canonical/events/turn-event.ts';
import { failure, type Failure } from '../../../canonical/failure/failure.ts';
import { storeNote, usageNote } from '../../../apis/sse.ts';
import type { Frame, InputTokens } from '../../../turns/api.ts';
import { anthropicErrorBody } from '../../errors.ts';
import { type Signer, projectReasoning, SUMMARY_SEPARATOR } from '../reasoning/thinking-block.ts';
import {
  type MessagesMeta,
  contextEdits,
  messageHead,
  hasRefused,
  stopFields,
  projectMessageUsage,
} from './project.ts';
import {
  wordsOf,
  type Message,
  type Produced,
  type Reasoning,
  type Slot,
  type ToolCall,
} from '../../../canonical/request/item.ts';
import {
  callHead,
  type Block,
  type BlockOptions,
  ToolInputStream,
  citationsOf,
  isMcpCall,
  mcpCallBlocks,
  isWebSearch,
  searchHead,
  searchInput,
  SearchResults,
} from './blocks.ts';

type Data = Readonly<Record<string, unknown>> & { readonly type: string };

/** An event of a stream, named by its type. */
const messageFrame = (data: Data): Frame => ({ event: data.type, data });

/** Sent while the stream is silent. */
export const PING: Frame = messageFrame({ type: 'ping' });

/** Renders the events of a turn, whose items follow each other, as the events of a message. */
export async function* renderMessage(
  events: AsyncIterable<TurnEvent>,
  meta: MessagesMeta,
  signer: Signer,
  inputTokens?: InputTokens,
): AsyncGenerator<Frame> {
  const message = { ...messageHead(meta), content: [], stop_reason: null, stop_sequence: null };
  // The backend's numbers come at the end. Some clients read only these.
  const usage = { ...projectMessageUsage(null), input_tokens: (await inputTokens?.()) ?? 0 };
  yield messageFrame({ type: 'message_start', message: { ...message, usage } });
  const blocks = new BlockFrames({ thinking: meta.thinking, signer });
  let isRefused = false;
  for await (const event of events) {
    yield* blocks.next(event);
    if (event.type === 'item-ended') isRefused ||= hasRefused(event.item);
    if (event.type === 'turn-ended') yield* end(event, blocks, { meta, isRefused });
  }
}

function* end(
  event: TurnEnded,
  blocks: BlockFrames,
  { meta, isRefused }: { readonly meta: MessagesMeta; readonly isRefused: boolean },
): Generator<Frame> {
  const { outcome, usage } = event;
  const failed = failureOf(outcome, blocks.brokenCall);
  if (failed !== null) {
    // A client must not take this for a whole message: `message_stop` does not follow.
    yield messageFrame(anthropicErrorBody(failed));
    return;
  }
  yield* blocks.rest();
  const ended = {
    type: 'message_delta',
    delta: stopFields(outcome, isRefused),
    usage: projectMessageUsage(usage),
    ...contextEdits(meta),
  };
  yield { ...messageFrame(ended), ...usageNote([event]) };
  yield { ...messageFrame({ type: 'message_stop' }), ...storeNote([event]) };
}

const failureOf = (outcome: Outcome, brokenCall: string | null): Failure | null => {
  if (outcome.kind === 'failed') return outcome.failure;
  if (brokenCall === null) return null;
  const isLimit = outcome.kind === 'incomplete' && outcome.reason === 'max_output_tokens';
  return failure('upstream_error', {
    message: isLimit
      ? `The answer reached max_tokens within the arguments of a call of the tool '${brokenCall}'. Ask again with a larger max_tokens.`
      : `The model's arguments of a call of the tool '${brokenCall}' are not complete JSON.`,
  });
};

/** What is being written: at most one block at a time. */
type OpenBlock =
  | { readonly type: 'text' }
  | { readonly type: 'thinking'; readonly list: 'summary' | 'reasoning'; part: number }
  | { readonly type: 'tool_use'; readonly input: ToolInputStream };

/** Writes the blocks of a stream whose items follow each other. */
class BlockFrames {
  readonly #options: BlockOptions;
  readonly #results = new SearchResults();
  #index = -1;
  #open: OpenBlock | null = null;
  /** The name of the tool whose call could not be written completely; null: none. */
  #brokenCall: string | null = null;

  constructor(options: BlockOptions) {
    this.#options = options;
  }

  /** A block must not be closed with half a call: clients would run what they can read of it. */
  get brokenCall(): string | null {
    return this.#brokenCall;
  }

  *next(event: TurnEvent): Generator<Frame> {
    if (this.#brokenCall !== null) return;
    if (event.type === 'item-started' && event.item.kind === 'tool-call') {
      yield* this.#start(
        { ...callHead(event.item), input: {} },
        { type: 'tool_use', input: new ToolInputStream() },
      );
    } else if (event.type === 'item-delta') {
      yield* this.#delta(event);
    } else if (event.type === 'item-ended') {
      yield* this.#end(event.item);
    }
  }

  /** What can be written only at the end of the turn. */
  *rest(): Generator<Frame> {
    yield* this.#whole(this.#results.rest());
  }

  *#delta({ at, delta }: ItemDelta): Generator<Frame> {
    if (delta === '') return;
    if (at === 'text') yield* this.#text(delta);
    else if (at === 'input') yield* this.#input(delta);
    else if (typeof at === 'object') yield* this.#thinking(at, delta);
  }

  *#text(text: string): Generator<Frame> {
    if (this.#open === null) yield* this.#start({ type: 'text', text: '' }, { type: 'text' });
    yield this.#add({ type: 'text_delta', text });
  }

  *#input(delta: string): Generator<Frame> {
    if (this.#open?.type !== 'tool_use') return;
    const text = this.#open.input.add(delta);
    if (text !== '') yield this.#add({ type: 'input_json_delta', partial_json: text });
  }

  *#thinking({ list, index: part }: Exclude<Slot, string>, delta: string): Generator<Frame> {
    if (this.#options.thinking !== 'summarized') return;
    let thinking = delta;
    if (this.#open?.type !== 'thinking') {
      yield* this.#start({ type: 'thinking', thinking: '', signature: '' }, { type: 'thinking', list, part });
    } else if (this.#open.list !== list) {
      return;
    } else if (this.#open.part !== part) {
      this.#open.part = part;
      thinking = SUMMARY_SEPARATOR + delta;
    }
    yield this.#add({ type: 'thinking_delta', thinking });
  }

  *#end(item: Produced): Generator<Frame> {
    if (item.kind === 'message') yield* this.#endMessage(item);
    else if (item.kind === 'reasoning') yield* this.#endReasoning(item);
    else if (item.kind === 'tool-call') yield* this.#endCall(item);
    else if (isWebSearch(item)) yield* this.#search(item);
    // Clients such as Vercel's AI SDK read the input of such a call only here, and this server knows it by now.
    else if (isMcpCall(item)) yield* this.#whole(mcpCallBlocks(item));
  }

  /** Citations are complete only now. So is a refusal, which is a block of its own. */
  *#endMessage(message: Message): Generator<Frame> {
    this.#results.cited(message);
    if (this.#open?.type === 'text') {
      for (const citation of citationsOf(message)) yield this.#add({ type: 'citations_delta', citation });
      yield this.#stop();
    }
    const refusal = wordsOf(message, 'refusal');
    if (refusal === '') return;
    yield* this.#text(refusal);
    yield this.#stop();
  }

  *#endReasoning(item: Reasoning): Generator<Frame> {
    const { thinking, signer } = this.#options;
    if (thinking === null) return;
    const block = projectReasoning(item, thinking, signer);
    if (block.type === 'redacted_thinking') {
      yield* this.#whole([{ ...block }]);
      return;
    }
    if (this.#open === null) yield* this.#start({ type: 'thinking', thinking: '', signature: '' }, null);
    yield this.#add({ type: 'signature_delta', signature: block.signature });
    yield this.#stop();
  }

  *#endCall(call: ToolCall): Generator<Frame> {
    if (this.#open?.type !== 'tool_use') return;
    const rest = this.#open.input.end(call);
    if (rest === null) {
      this.#brokenCall = call.name;
      return;
    }
    if (rest !== '') yield this.#add({ type: 'input_json_delta', partial_json: rest });
    yield this.#stop();
  }

  *#search(search: Parameters<typeof searchHead>[0]): Generator<Frame> {
    yield* this.rest();
    yield* this.#start({ ...searchHead(search), input: {} }, null);
    const input = JSON.stringify(searchInput(search));
    if (input !== '{}') yield this.#add({ type: 'input_json_delta', partial_json: input });
    yield this.#stop();
    yield* this.#whole(this.#results.searched(search));
  }

  /** Blocks without deltas. */
  *#whole(blocks: readonly Block[]): Generator<Frame> {
    for (const block of blocks) {
      yield* this.#start(block, null);
      yield this.#stop();
    }
  }

  *#start(block: Block, open: OpenBlock | null): Generator<Frame> {
    this.#index += 1;
    this.#open = open;
    yield messageFrame({ type: 'content_block_start', index: this.#index, content_block: block });
  }

  #add(delta: Block): Frame {
    return messageFrame({ type: 'content_block_delta', index: this.#index, delta });
  }

  #stop(): Frame {
    this.#open = null;
    return messageFrame({ type: 'content_block_stop', index: this.#index });
  }
}
