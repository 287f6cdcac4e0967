import { send } from '../../api/client.ts';
import { sessionPath, type RequiredAction } from './agent-answers.ts';

export const messageInput = (text: string) => ({
  type: 'agent.session.input.message',
  input: [{ role: 'user', content: [{ type: 'input_text', text }] }],
});

export const CANCEL = { type: 'agent.session.input.cancel' };

/** What a person answers to a call that waits. */
export type CallAnswer =
  | { readonly success: true; readonly output: string }
  /** The model reads the error. */
  | { readonly success: false; readonly error?: string };

export const resultInput = ({ turn_id: turnId, call_id: callId }: RequiredAction, answer: CallAnswer) => ({
  type: 'agent.session.input.tool_result',
  turn_id: turnId,
  call_id: callId,
  ...answer,
});

type Input = ReturnType<typeof messageInput> | ReturnType<typeof resultInput> | typeof CANCEL;

/** A new idempotency key. `crypto.randomUUID` is missing on plain HTTP. */
const newKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** Keys of inputs: the same text has the same key until it has arrived. */
export class InputKeys {
  #text = '';
  #key = '';

  keyOf(text: string): string {
    if (this.#text !== text) [this.#text, this.#key] = [text, newKey()];
    return this.#key;
  }

  /** The same text is another input from now on. */
  arrived(): void {
    this.#text = '';
  }
}

/** Sends an input event. With the same key it has an effect only once, however often it is sent. */
export const sendInput = async (id: string, input: Input, key = newKey()): Promise<void> => {
  const headers = { 'idempotency-key': key };
  await send(`${sessionPath(id)}/events`, { method: 'POST', body: { events: [input] }, headers });
};
