import type { Failure } from '../canonical/failure/failure.ts';
import { runSliced } from '../kit/async/event-loop.ts';
import type { Clock } from '../kit/ambient.ts';
import { isJsonObject, type JsonObject } from '../kit/json/json.ts';
import type { Lease, ResponseRow, ResponseStatus, Store } from '../store/store.ts';
import type { BackgroundResponse } from '../turns/api.ts';
import { SHORT_TTL_MS } from './record-response.ts';
import { isRunning, readResponse, responseBody, type StoredRequest } from './stored-response.ts';

export interface BackgroundRowsOptions {
  readonly store: Pick<Store, 'responses'>;
  readonly clock: Clock;
  /** How long a response is kept, from its creation. */
  readonly ttlMs: number;
}

/** A response with `store: false` that never ends is kept so long. */
const UNENDED_TTL_MS = 24 * 60 * 60_000;

/** The rows of background responses from their start to their end. */
export class BackgroundRows {
  readonly #options: BackgroundRowsOptions;

  constructor(options: BackgroundRowsOptions) {
    this.#options = options;
  }

  /** When the row of a response that starts now expires, if it does not end before. */
  expiryOf({ isStored }: Pick<BackgroundResponse, 'isStored'>): number {
    const { clock, ttlMs } = this.#options;
    return clock.now() + (isStored ? ttlMs : UNENDED_TTL_MS);
  }

  async add(
    owner: string,
    response: BackgroundResponse,
    how: { readonly lease: Lease; readonly request: StoredRequest | null },
  ): Promise<void> {
    const { id, createdAt, queued } = response;
    const object: JsonObject = isJsonObject(queued) ? queued : {};
    const request = how.request === null ? {} : { request: how.request };
    await this.#options.store.responses.add(
      {
        id,
        owner,
        status: 'queued',
        isBackground: true,
        createdAt: createdAt * 1000,
        expiresAt: this.expiryOf(response),
        body: JSON.stringify(responseBody({ object, shown: [], ...request })),
      },
      how.lease,
    );
  }

  /** It waits again. False: it does not run any more. */
  async again({ owner, ...row }: ResponseRow, request: StoredRequest): Promise<boolean> {
    const { object } = await runSliced(readResponse(row), null);
    const body = JSON.stringify(responseBody({ object, shown: [], request }));
    return (await this.#options.store.responses.change(owner, row.id, { status: 'queued', body })) !== null;
  }

  /** False: it does not run any more. */
  async accept(owner: string, id: string): Promise<boolean> {
    return (await this.#options.store.responses.change(owner, id, { status: 'in_progress' })) !== null;
  }

  /** False: it had ended, or is unknown. */
  async cancel(row: ResponseRow): Promise<boolean> {
    return this.#end(row, 'cancelled', null);
  }

  /** False: it had ended, or is unknown. */
  async fail(owner: string, id: string, { message }: Pick<Failure, 'message'>): Promise<boolean> {
    const row = await this.#options.store.responses.find(owner, id);
    // The codes of these errors are a closed list.
    return row !== null && this.#end(row, 'failed', { code: 'server_error', message });
  }

  async #end(row: ResponseRow, status: ResponseStatus, error: JsonObject | null): Promise<boolean> {
    if (!isRunning(row.status)) return false;
    const { store, clock } = this.#options;
    const { object } = await runSliced(readResponse(row), null);
    const changed = await store.responses.change(row.owner, row.id, {
      status,
      body: JSON.stringify(responseBody({ object: { ...object, status, error }, shown: [] })),
      ...(object['store'] === false ? { expiresAt: clock.now() + SHORT_TTL_MS } : {}),
    });
    return changed !== null;
  }
}
