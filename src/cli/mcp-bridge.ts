import { createLineDecoder } from '../kit/text/line-decoder.ts';
import { pause, within } from '../kit/async/wait.ts';
import { isJsonObject, textIn, type Json, type JsonObject } from '../kit/json/json.ts';

export interface BridgeOptions {
  /** Of `/mcp`. */
  readonly url: string;
  readonly key: string;
  /** Writes a message to the client. */
  readonly write: (message: string) => void;
  /** Tells a person what went wrong. */
  readonly say: (text: string) => void;
  /** The pauses before the stream of the session is opened again. */
  readonly retryMs?: readonly number[];
}

const SESSION_HEADER = 'mcp-session-id';
/** For the head of an answer. The answer itself may take as long as it wants. */
const HEAD_MS = 60_000;
const END_MS = 2_000;
const RETRY_MS = [1_000, 2_000, 5_000, 15_000, 30_000];
/** More than the server sends. */
const MAX_EVENT_CHARS = 256 * 1024 * 1024;

const PARSE_ERROR = -32700;
const LOST = -32000;

type Message = JsonObject | readonly JsonObject[];

/**
 * Passes messages of an MCP client on standard input to a server over Streamable HTTP, and the server's to the client. If the
 * server has forgotten the session, such as after a restart, it begins another one, which the client does not notice.
 */
export class McpBridge {
  readonly #options: BridgeOptions;
  readonly #over = new AbortController();
  /** The answers that are being read. */
  readonly #reading = new Set<Promise<void>>();
  #session: string | null = null;
  #version: string | null = null;
  /** What the client has begun with, to do it again. */
  #beginning: JsonObject | null = null;
  #channel: Promise<void> | null = null;
  #again: Promise<void> | null = null;

  constructor(options: BridgeOptions) {
    this.#options = options;
  }

  /** Takes a line of the client. Resolves when the server has taken it; its answer may come later. */
  async receive(line: string): Promise<void> {
    const message = parsed(line);
    if (message === null) {
      this.refuse('a line is not a JSON object');
      return;
    }
    const open = new Set(requestIdsIn(message));
    try {
      await this.#pass(message, open);
    } catch (error) {
      if (this.#over.signal.aborted) return;
      this.#options.say(`${this.#options.url}: ${reasonOf(error)}`);
      this.#fail(open, `The server at ${this.#options.url} does not answer (${reasonOf(error)}).`);
    }
  }

  /** Answers a line that cannot be passed on. */
  refuse(problem: string): void {
    this.#write({
      jsonrpc: '2.0',
      id: null,
      error: { code: PARSE_ERROR, message: `Parse error: ${problem}.` },
    });
  }

  /** Ends the calls that run, and the session. */
  async close(): Promise<void> {
    this.#over.abort(new Error('the client has ended'));
    await within(Promise.allSettled([...this.#reading, this.#channel]), END_MS);
    if (this.#session === null) return;
    const signal = AbortSignal.timeout(END_MS);
    const ending = fetch(this.#options.url, { method: 'DELETE', headers: this.#headers(), signal });
    await ending.then(
      (response) => response.body?.cancel(),
      () => undefined,
    );
  }

  async #pass(message: Message, open: Set<Json>): Promise<void> {
    const isBeginning = isJsonObject(message) && message['method'] === 'initialize';
    let response = await this.#post(message, isBeginning);
    if (response.status === 404 && this.#session !== null && !isBeginning) {
      await response.body?.cancel();
      await this.#beginAgain();
      response = await this.#post(message, false);
    }
    if (!response.ok) {
      const problem = await problemIn(response);
      if (open.size === 0) this.#options.say(`The server refused a message (${response.status}): ${problem}`);
      this.#fail(open, problem);
      return;
    }
    if (isBeginning) {
      this.#beginning = message;
      this.#session = response.headers.get(SESSION_HEADER);
    }
    const reading = this.#read(response, open);
    if (isStream(response) && !isBeginning) {
      this.#reading.add(reading);
      void reading.finally(() => this.#reading.delete(reading));
    } else await reading;
    if (isJsonObject(message) && message['method'] === 'notifications/initialized') this.#openChannel();
  }

  /** Writes what an answer has. Requests without an answer get an error. */
  async #read(response: Response, open: Set<Json>): Promise<void> {
    try {
      for await (const text of messagesIn(response)) this.#take(text, open);
    } catch (error) {
      if (!this.#over.signal.aborted) this.#options.say(`${this.#options.url}: ${reasonOf(error)}`);
    }
    if (!this.#over.signal.aborted) this.#fail(open, 'The connection to the server was lost.');
  }

  #take(text: string, open: Set<Json>): void {
    const message = parsed(text);
    for (const one of listOf(message)) {
      if ('method' in one) continue;
      const { id, result } = one;
      if (id !== undefined) open.delete(id);
      const version = isJsonObject(result) ? textIn(result, 'protocolVersion') : '';
      if (version !== '') this.#version = version;
    }
    if (message !== null) this.#write(message);
  }

  /** One line for each message, whatever the server has sent. */
  #write(message: Message): void {
    this.#options.write(JSON.stringify(message));
  }

  #fail(open: Set<Json>, message: string): void {
    for (const id of open) this.#write({ jsonrpc: '2.0', id, error: { code: LOST, message } });
    open.clear();
  }

  /** Once for all messages that find the session gone. */
  #beginAgain(): Promise<void> {
    this.#again ??= this.#initialize().finally(() => {
      this.#again = null;
    });
    return this.#again;
  }

  async #initialize(): Promise<void> {
    if (this.#beginning === null) return;
    const response = await this.#post(this.#beginning, true);
    await response.text();
    if (!response.ok) return;
    this.#session = response.headers.get(SESSION_HEADER);
    const initialized = await this.#post({ jsonrpc: '2.0', method: 'notifications/initialized' }, false);
    await initialized.body?.cancel();
  }

  /** Messages of the server that belong to no request of the client. */
  #openChannel(): void {
    this.#channel ??= this.#listen().catch(() => undefined);
  }

  async #listen(): Promise<void> {
    const { signal } = this.#over;
    const { url, retryMs = RETRY_MS } = this.#options;
    for (let failures = 0; !signal.aborted;) {
      const headers = { ...this.#headers(), accept: 'text/event-stream' };
      const response = await fetch(url, { headers, signal }).catch(() => null);
      if (response?.ok === true) {
        failures = 0;
        await this.#read(response, new Set());
      } else {
        await response?.body?.cancel();
        // The server has none.
        if (response?.status === 405) return;
        if (response?.status === 404) await this.#beginAgain().catch(() => undefined);
      }
      await pause(retryMs[Math.min(failures, retryMs.length - 1)] ?? 0, signal);
      failures += 1;
    }
  }

  async #post(message: Message, isBeginning: boolean): Promise<Response> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new Error('no answer in time')), HEAD_MS);
    try {
      return await fetch(this.#options.url, {
        method: 'POST',
        headers: {
          ...(isBeginning ? { authorization: `Bearer ${this.#options.key}` } : this.#headers()),
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify(message),
        signal: AbortSignal.any([this.#over.signal, late.signal]),
      });
    } finally {
      clearTimeout(timer);
    }
  }

  #headers(): Record<string, string> {
    return {
      authorization: `Bearer ${this.#options.key}`,
      ...(this.#session === null ? {} : { [SESSION_HEADER]: this.#session }),
      ...(this.#version === null ? {} : { 'mcp-protocol-version': this.#version }),
    };
  }
}

/** Null: not a message, and no batch of messages. */
const parsed = (text: string): Message | null => {
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) return value;
    return Array.isArray(value) && value.every(isJsonObject) ? value : null;
  } catch {
    return null;
  }
};

const listOf = (message: Message | null): readonly JsonObject[] => {
  if (message === null) return [];
  return isJsonObject(message) ? [message] : message;
};

const requestIdsIn = (message: Message): readonly Json[] =>
  listOf(message).flatMap(({ id, method }) => (id === undefined || method === undefined ? [] : [id]));

const isStream = ({ headers }: Response): boolean =>
  headers.get('content-type')?.includes('text/event-stream') ?? false;

async function* messagesIn(response: Response): AsyncGenerator<string> {
  if (!isStream(response)) {
    const text = await response.text();
    if (text.trim() !== '') yield text;
    return;
  }
  const decoder = createLineDecoder();
  let data = '';
  for await (const chunk of response.body ?? []) {
    for (const line of decoder.push(chunk)) {
      if (line.startsWith('data:')) data += line.slice('data:'.length);
      if (data.length > MAX_EVENT_CHARS) throw new Error('a message of the server is too long');
      if (line !== '' || data === '') continue;
      yield data;
      data = '';
    }
  }
}

/** The server's own words, in either form of errors. */
const problemIn = async (response: Response): Promise<string> => {
  const body = parsed(await response.text().catch(() => ''));
  const error = isJsonObject(body) && isJsonObject(body['error']) ? body['error'] : {};
  return textIn(error, 'message') || `The server answered with status ${response.status}.`;
};

/** `fetch` has the reason of a failed connection in its cause. */
const reasonOf = (error: unknown): string => {
  const { message, cause } = error as Error;
  return cause instanceof Error ? cause.message : message;
};
