import type { ThinkingDisplay } from '../reasoning/thinking-block.ts';

/** What an answer needs besides the events of its turn. Plain data. */
export interface MessagesMeta {
  readonly id: string;
  /** The requested model name. */
  readonly model: string;
  /** How reasoning is shown; null: not at all. */
  readonly thinking: ThinkingDisplay | null;
  /** Whether the request asks for edits of its context. None is made, and the answer says so. */
  readonly editsContext?: boolean;
}
