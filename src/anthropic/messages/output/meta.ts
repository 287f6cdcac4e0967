/** What an answer needs besides the events of its turn. Plain data. */
export interface MessagesMeta {
  readonly id: string;
  /** The requested model name. */
  readonly model: string;
}
