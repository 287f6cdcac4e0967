/** A request that has ended, as the request log keeps it. The columns are what requests are searched by. */
export interface RequestRow {
  /** Unique, and in the order of the starts: a text that begins with the time. */
  readonly id: string;
  /** Chosen by the client, who may use it again. */
  readonly requestId: string;
  /** Of the answer; null: it has none. */
  readonly responseId: string | null;
  /** The server that answered. */
  readonly instance: string;
  /** Null: the request had no valid key. */
  readonly keyId: string | null;
  readonly client: string | null;
  readonly model: string | null;
  /** The HTTP status; 499: the client has disconnected. */
  readonly status: number;
  /** Null: no error. A stream that fails has the status 200 and a code. */
  readonly errorCode: string | null;
  readonly expiresAt: number;
  readonly body: string;
  /** The parts of the request and their times. */
  readonly spans: string;
}

export type ListedRequest = Omit<RequestRow, 'spans' | 'expiresAt'>;

/** What a request must have; null: anything. */
export interface RequestSearch {
  /** `ok`: no error; `failed`: any error. */
  readonly result: 'ok' | 'failed' | null;
  /** Included, and excluded. */
  readonly status: { readonly from: number; readonly below: number } | null;
  readonly errorCode: string | null;
  readonly model: string | null;
  readonly keyId: string | null;
  readonly client: string | null;
  /** The beginning of its id, of its request id or of its response id. */
  readonly text: string | null;
  /** Ids: included, and excluded. */
  readonly from: string | null;
  readonly before: string | null;
  readonly limit: number;
}

/** The log of requests: those of all keys and of all servers on the same database. */
export interface RequestStore {
  /** Safe to send again. */
  add(rows: readonly RequestRow[]): Promise<void>;
  find(id: string): Promise<Omit<RequestRow, 'expiresAt'> | null>;
  /** The newest first. */
  list(search: RequestSearch): Promise<readonly ListedRequest[]>;
  /** Deletes some of the oldest rows if there are more than `keep`, at most `limit`. Returns how many. */
  trim(keep: number, limit: number): Promise<number>;
}
