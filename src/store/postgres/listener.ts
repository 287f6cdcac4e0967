import type { Client } from 'pg';

import { endConnections } from './connections.ts';

export interface ListenerOptions {
  readonly channel: string;
  readonly connect: () => Client;
  /** For a ping and a connection. */
  readonly timeoutMs: number;
  readonly onNotification: (payload: string) => void;
  readonly onLost: (reason: string) => void;
  /** It listens again. Notifications may have been lost. */
  readonly onBack: () => void;
}

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 2_000;
/** A connection whose other end vanished looks healthy until something is sent. */
const PING_MS = 10_000;

/** A connection for notifications, made again whenever it breaks. */
export class NotificationListener {
  readonly #options: ListenerOptions;
  #client: Client | null = null;
  #timer: NodeJS.Timeout | null = null;
  #pauseMs = FIRST_PAUSE_MS;
  #isStopped = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  /** Rejects if the first connection cannot be made. */
  async start(): Promise<void> {
    const { connect, channel, onNotification } = this.#options;
    const client = connect();
    client.on('notification', ({ payload = '' }) => onNotification(payload));
    try {
      // Before the connection exists, its errors come from `connect`; later ones only here.
      client.on('error', (error) => this.#lose(client, error.message));
      await client.connect();
      client.on('end', () => this.#lose(client, 'the connection ended'));
      await client.query(`listen ${channel}`);
    } catch (error) {
      void endConnections(client);
      throw error;
    }
    this.#client = client;
    this.#pauseMs = FIRST_PAUSE_MS;
    // Its types lack this one. It must not keep the process alive.
    (client as unknown as { unref(): void }).unref();
    this.#schedule(PING_MS, () => void this.#ping(client));
    if (this.#isStopped) await this.stop();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = null;
    if (client !== null) await endConnections(client);
  }

  #schedule(milliseconds: number, run: () => void): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(run, milliseconds);
    this.#timer.unref();
  }

  async #ping(client: Client): Promise<void> {
    const timer = setTimeout(() => this.#lose(client, 'it does not answer'), this.#options.timeoutMs);
    try {
      await client.query('select 1');
      if (this.#client === client) this.#schedule(PING_MS, () => void this.#ping(client));
    } catch (error) {
      this.#lose(client, error instanceof Error ? error.message : String(error));
    } finally {
      clearTimeout(timer);
    }
  }

  #lose(client: Client, reason: string): void {
    if (this.#client !== client) return;
    this.#client = null;
    void endConnections(client);
    this.#options.onLost(reason);
    this.#retry();
  }

  #retry(): void {
    this.#schedule(this.#pauseMs, () => void this.#startAgain());
    this.#pauseMs = Math.min(this.#pauseMs * 2, MAX_PAUSE_MS);
  }

  async #startAgain(): Promise<void> {
    try {
      await this.start();
    } catch {
      if (!this.#isStopped) this.#retry();
      return;
    }
    if (!this.#isStopped) this.#options.onBack();
  }
}
