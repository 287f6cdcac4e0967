import { sseBlocks } from '../../src/kit/text/sse-blocks.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';

/** What one client saw of a background response. */
export class FollowedResponse {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #texts: string[] = [];
  /** How often the connection broke. */
  breaks = 0;

  constructor(url: string, key: string) {
    this.#url = `${url}/v1/responses`;
    this.#headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  }

  get id(): string {
    return /"id":"(resp_\w+)"/.exec(this.#texts[0] ?? '')?.[1] ?? '';
  }

  /** The events without the last line of the stream. */
  get events(): readonly JsonObject[] {
    return this.#texts
      .filter((text) => !text.endsWith('data: [DONE]\n\n'))
      .map((text) => JSON.parse(text.slice(text.indexOf('data: ') + 6)) as JsonObject);
  }

  /** The response in the last event. */
  get last(): JsonObject {
    return (this.events.at(-1)?.['response'] ?? {}) as JsonObject;
  }

  /** Starts the response and reads its stream to the end: where the connection breaks, it asks for the rest. */
  async read(ask: object): Promise<this> {
    const body = JSON.stringify({ ...ask, stream: true, background: true });
    await this.#add(await fetch(this.#url, { method: 'POST', headers: this.#headers, body }));
    while (this.#texts.at(-1)?.endsWith('data: [DONE]\n\n') !== true) {
      this.breaks += 1;
      if (this.breaks > 50) throw new Error(`${this.id} does not end`);
      const rest = `${this.#url}/${this.id}?stream=true&starting_after=${this.#texts.length - 1}`;
      await this.#add(await fetch(rest, { headers: this.#headers }));
    }
    return this;
  }

  async #add(answer: Response): Promise<void> {
    if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`);
    const decoder = new TextDecoder();
    let rest = '';
    try {
      for await (const chunk of answer.body ?? []) {
        const blocks = sseBlocks(rest + decoder.decode(chunk as Uint8Array, { stream: true }));
        rest = blocks.at(-1)?.endsWith('\n\n') === true ? '' : (blocks.at(-1) ?? '');
        this.#texts.push(...blocks.slice(0, rest === '' ? undefined : -1));
      }
    } catch {
      // The server has died.
    }
  }
}
