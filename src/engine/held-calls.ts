import type { CallableTools } from '../canonical/tool.ts';
import type { ThreadSignal } from '../codex/app-server.ts';
import { isJsonObject } from '../kit/json.ts';

type ServerRequest = Extract<ThreadSignal, { kind: 'request' }>;

/**
 * The tool calls that the app-server waits for. The client's tools run at the client: their call is in
 * the answer already, and the turn is interrupted when the answer ends. But while a call waits, the
 * app-server does not say why it left an answer. Whoever knows that it did lets them go.
 */
export class HeldCalls {
  /** The tools that the client runs. */
  readonly #callable: CallableTools;
  #held: ServerRequest[] = [];
  #isLetGo = false;

  constructor(callable: CallableTools) {
    this.#callable = callable;
  }

  /**
   * A call that the client ruled out is answered as codex answers calls that it does not know; nothing
   * but calls may be asked of us.
   */
  take(request: ServerRequest): void {
    if (request.method !== 'item/tool/call') {
      request.reject('not supported');
      return;
    }
    const { tool, namespace } = isJsonObject(request.params) ? request.params : {};
    const known =
      typeof tool === 'string' &&
      this.#callable.has(tool, 'function', typeof namespace === 'string' ? namespace : undefined);
    if (!known) {
      answer(request, `unsupported call: ${JSON.stringify(tool ?? null)}`);
    } else if (this.#isLetGo) answer(request, 'aborted');
    else this.#held.push(request);
  }

  /** The app-server has left the answer they stand in: it is to say why. */
  letGo(): void {
    this.#isLetGo = true;
    const held = this.#held;
    this.#held = [];
    for (const request of held) answer(request, 'aborted');
  }
}

const answer = (request: ServerRequest, text: string): void =>
  request.respond({ contentItems: [{ type: 'inputText', text }], success: false });
