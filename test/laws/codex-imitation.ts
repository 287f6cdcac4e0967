import type { ThreadSignal } from '../../src/codex/app-server.ts';
import { isJsonObject, type JsonObject } from '../../src/kit/json/json.ts';

export interface CodexOptions {
  readonly tell: (signal: ThreadSignal) => void;
  readonly askModelAgain: () => void;
}

/**
 * Imitates what the real app-server reports about a model's stream: only events followed by an empty line count, a
 * failure is reported when the stream ends, and all calls are of unknown tools, which it answers itself before it calls
 * the model again.
 * `test/faults/ends.test.ts` tests the real one.
 */
export class CodexImitation {
  readonly #options: CodexOptions;
  #hasCall = false;
  #state: 'reading' | 'completed' | 'failed' | 'told' = 'reading';
  #error = 'stream disconnected before completion: stream closed before response.completed';

  constructor(options: CodexOptions) {
    this.#options = options;
  }

  /** All notifications about a stream. */
  read(bytes: Uint8Array): void {
    const events = Buffer.from(bytes).toString('utf8').split('\n\n').slice(0, -1);
    for (const event of events) {
      const data = /^data: (\{.*\})$/m.exec(event)?.[1];
      if (data !== undefined && this.#state === 'reading') this.#see(JSON.parse(data) as JsonObject);
    }
    if (this.#state === 'reading') this.#state = 'failed';
    this.#tellEnd();
  }

  #see(event: JsonObject): void {
    const item = isJsonObject(event['item']) ? event['item'] : {};
    const at = { itemId: event['item_id'], delta: event['delta'], summaryIndex: event['summary_index'] };
    const type = typeof event['type'] === 'string' ? event['type'] : '';
    switch (type) {
      case 'response.output_item.added':
        if (item['type'] === 'message')
          this.#note('item/started', { item: { ...item, type: 'agentMessage' } });
        if (item['type'] === 'reasoning') this.#note('item/started', { item });
        return;
      case 'response.output_text.delta':
        this.#note('item/agentMessage/delta', at);
        return;
      case 'response.reasoning_summary_part.added':
        this.#note('item/reasoning/summaryPartAdded', at);
        return;
      case 'response.reasoning_summary_text.delta':
        this.#note('item/reasoning/summaryTextDelta', at);
        return;
      case 'response.output_item.done':
        this.#itemDone(item);
        return;
      case 'response.incomplete':
        this.#error = 'Incomplete response returned, reason: max_output_tokens';
        return;
      case 'response.completed': {
        const usage = { inputTokens: 3, outputTokens: 4, totalTokens: 7 };
        const none = { cachedInputTokens: 0, cacheWriteInputTokens: 0, reasoningOutputTokens: 0 };
        this.#state = 'completed';
        this.#note('rawResponse/completed', { responseId: 'resp_1', usage: { ...usage, ...none } });
      }
    }
  }

  #itemDone(item: JsonObject): void {
    this.#note('rawResponseItem/completed', { item });
    if (item['type'] === 'custom_tool_call' || item['type'] === 'function_call') this.#hasCall = true;
  }

  #tellEnd(): void {
    if (this.#state === 'told') return;
    const isWell = this.#state === 'completed';
    this.#state = 'told';
    if (isWell && this.#hasCall) this.#options.askModelAgain();
    else {
      const error = isWell ? null : { message: this.#error, codexErrorInfo: 'other' };
      this.#note('turn/completed', { turn: { id: TURN_ID, status: isWell ? 'completed' : 'failed', error } });
    }
  }

  #note(method: string, params: Record<string, unknown>): void {
    const ids = { threadId: THREAD_ID, turnId: TURN_ID };
    this.#options.tell({ kind: 'notification', method, params: { ...ids, ...params } });
  }
}

export const THREAD_ID = 'thread-1';
export const TURN_ID = 'turn-1';
