import type { CallStarted, MessageEnded, TurnEnded, TurnEvent } from '../../canonical/turn-event.ts';
import { assertNever } from '../../kit/assert-never.ts';
import { interleave } from '../../kit/interleave.ts';
import { mapAll, type OneOrMore } from '../../kit/one-or-more.ts';
import { projectUsage } from '../completion-usage.ts';
import { errorBody } from '../error-body.ts';
import { JoinedText } from '../joined-text.ts';
import { DONE, type Frame } from '../sse.ts';
import { commonFields, finishReason, projectAnnotations, projectLogprobs, type ChatMeta } from './project.ts';

/** The events of each choice's turn → chunks, in the order in which they come. */
export async function* renderChat(
  turns: OneOrMore<AsyncIterable<TurnEvent>>,
  meta: ChatMeta,
): AsyncGenerator<Frame> {
  const choices = mapAll(turns, (_, index) => new ChoiceRenderer(index, meta));
  const ended: TurnEnded[] = [];
  for await (const [index, event] of interleave(turns)) {
    if (event.type === 'turn-ended') {
      if (event.outcome.kind === 'failed') {
        yield { event: null, data: errorBody(event.outcome.failure) };
        yield { event: null, data: DONE };
        return;
      }
      ended.push(event);
    }
    yield* (choices[index] ?? choices[0]).next(event);
  }
  const usage = meta.includeUsage ? projectUsage(ended, meta.usagePolicy) : null;
  if (usage !== null) {
    yield {
      event: null,
      data: { ...commonFields(meta), object: 'chat.completion.chunk', choices: [], usage },
    };
  }
  yield { event: null, data: DONE };
}

/** What a chunk says besides its delta. */
interface ChunkRest {
  readonly logprobs?: ReturnType<typeof projectLogprobs>;
  readonly finish_reason?: string;
}

/** The chunks of one choice. */
class ChoiceRenderer {
  readonly #index: number;
  readonly #meta: ChatMeta;
  readonly #fields: ReturnType<typeof commonFields>;
  readonly #content = new JoinedText();
  readonly #refusal = new JoinedText();
  readonly #reasoning = new JoinedText();
  /** The calls so far, and their place in `tool_calls`. */
  readonly #calls = new Map<string, number>();
  #hasBegun = false;

  constructor(index: number, meta: ChatMeta) {
    this.#index = index;
    this.#meta = meta;
    this.#fields = commonFields(meta);
  }

  *next(event: TurnEvent): Generator<Frame> {
    switch (event.type) {
      case 'text-delta': {
        const content = this.#content.add(event.itemId, event.delta);
        if (content === '') return;
        yield* this.#begin('');
        yield this.#chunk({ content });
        return;
      }
      case 'refusal-delta': {
        const refusal = this.#refusal.add(event.itemId, event.delta);
        if (refusal === '') return;
        yield* this.#begin(null);
        yield this.#chunk({ refusal });
        return;
      }
      case 'reasoning-summary-delta': {
        const text = this.#reasoning.add(`${event.itemId} ${event.index}`, event.delta);
        if (text === '') return;
        yield* this.#begin(null);
        yield this.#chunk({ reasoning_content: text });
        return;
      }
      case 'call-started':
        yield* this.#begin(null);
        yield* this.#startCall(event);
        return;
      case 'call-delta':
        if (event.delta !== '') yield* this.#callDelta(event.itemId, event.delta);
        return;
      case 'message-ended':
        yield* this.#endMessage(event);
        return;
      case 'turn-ended':
        yield* this.#end(event);
        return;
      case 'turn-accepted':
      case 'message-started':
      case 'reasoning-started':
      case 'reasoning-summary-started':
      case 'reasoning-text-delta':
      case 'reasoning-ended':
      case 'call-ended':
      case 'carried-item':
        return;
      default:
        assertNever(event);
    }
  }

  /** The role comes first; beside it stands what `content` is when nothing more is added to it. */
  *#begin(content: '' | null): Generator<Frame> {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    yield this.#chunk({ role: 'assistant', content, refusal: null });
  }

  *#startCall({ itemId, callId, name }: CallStarted): Generator<Frame> {
    const index = this.#calls.size;
    this.#calls.set(itemId, index);
    if (!this.#meta.isLegacy) {
      const call = { index, id: callId, type: 'function', function: { name, arguments: '' } };
      yield this.#chunk({ tool_calls: [call] });
    } else if (index === 0) {
      yield this.#chunk({ function_call: { name, arguments: '' } });
    }
  }

  *#callDelta(itemId: string, delta: string): Generator<Frame> {
    const index = this.#calls.get(itemId);
    if (!this.#meta.isLegacy) {
      yield this.#chunk({ tool_calls: [{ index, function: { arguments: delta } }] });
    } else if (index === 0) {
      yield this.#chunk({ function_call: { arguments: delta } });
    }
  }

  *#endMessage(event: MessageEnded): Generator<Frame> {
    const annotations = projectAnnotations(event.annotations, this.#content.length - event.text.length);
    if (annotations.length === 0 && event.logprobs.length === 0) return;
    yield* this.#begin(null);
    yield this.#chunk(annotations.length === 0 ? {} : { annotations }, {
      logprobs: projectLogprobs(event.logprobs),
    });
  }

  *#end(event: TurnEnded): Generator<Frame> {
    const saidNothing = this.#content.length + this.#refusal.length + this.#calls.size === 0;
    if (saidNothing && this.#hasBegun) yield this.#chunk({ content: '' });
    yield* this.#begin('');
    yield this.#chunk({}, { finish_reason: finishReason(event.outcome, this.#meta) });
  }

  #chunk(delta: Readonly<Record<string, unknown>>, rest: ChunkRest = {}): Frame {
    const choice = { index: this.#index, delta, logprobs: null, finish_reason: null, ...rest };
    const data = {
      ...this.#fields,
      object: 'chat.completion.chunk',
      choices: [choice],
      ...(this.#meta.includeUsage ? { usage: null } : {}),
    };
    return { event: null, data };
  }
}
