import type { GatewayError } from '../../../canonical/failure/failure.ts';
import { unavailable } from '../../../store/store-errors.ts';
import { quoted } from '../../../kit/text/display.ts';
import { agentError } from '../failures.ts';
import type { AgentSessionRow, AgentSessionStore, InputKey, QueueRoom } from '../store/port.ts';
import { SessionDraft, type DraftRules, type MadeDecision } from './session-draft.ts';
import type { HowTurnEnded } from './session-state.ts';

export interface ChangeOptions {
  readonly inputKey?: InputKey;
  readonly room?: (row: AgentSessionRow) => QueueRoom;
}

/** Called after changes were made, for metrics. */
export interface ChangeHooks {
  readonly onChanged: (row: AgentSessionRow) => void;
  readonly onEnded: (status: HowTurnEnded['status']) => void;
  readonly onDecision: (decision: MadeDecision) => void;
}

export interface ChangedSession<Result> {
  readonly result: Result;
  readonly draft: SessionDraft;
  /** As it was before the change. */
  readonly before: AgentSessionRow;
  readonly row: AgentSessionRow;
}

/** More than ever change one session at the same time. */
const MAX_ATTEMPTS = 50;

export const unknownSession = (id: string): GatewayError =>
  agentError('unknown_session', { message: `Session with id '${quoted(id)}' not found.` });

const QUEUE_FULL_SECONDS = 5;

export const queueFull = (): GatewayError =>
  agentError('agent_queue_full', { retryAfterSeconds: QUEUE_FULL_SECONDS });

/** Makes changes of sessions, again if another one was faster. */
export class SessionChanges {
  readonly #store: AgentSessionStore;
  readonly #rules: DraftRules;
  readonly #hooks: ChangeHooks;

  constructor(store: AgentSessionStore, rules: DraftRules, hooks: ChangeHooks) {
    this.#store = store;
    this.#rules = rules;
    this.#hooks = hooks;
  }

  /**
   * `draw` may be called several times, and throws if the change cannot be made. It returns undefined if there is nothing to
   * change. Null: nothing was changed, or a request with the same key was faster.
   */
  async change<Result>(
    owner: string,
    id: string,
    draw: (draft: SessionDraft, row: AgentSessionRow) => Result | undefined,
    { inputKey, room }: ChangeOptions = {},
  ): Promise<ChangedSession<Result> | null> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const before = await this.find(owner, id);
      const draft = new SessionDraft(before, this.#rules);
      let result: Result | undefined;
      try {
        result = draw(draft, before);
      } catch (error) {
        // The same request may have made the change just now.
        if (await this.#isUsed(owner, id, inputKey)) return null;
        throw error;
      }
      if (result === undefined) return null;
      const change = draft.change({
        ...(inputKey === undefined ? {} : { inputKey }),
        ...(room === undefined ? {} : { room: room(before) }),
      });
      const row = await this.#store.change(owner, id, before.rev, change);
      if (row === 'gone') throw unknownSession(id);
      if (row === 'full' && !(await this.#isUsed(owner, id, inputKey))) throw queueFull();
      if (typeof row !== 'string') {
        this.#made(draft, row);
        return { result, draft, before, row };
      }
      if (await this.#isUsed(owner, id, inputKey)) return null;
    }
    throw unavailable('the session changes too often');
  }

  async #isUsed(owner: string, id: string, inputKey: InputKey | undefined): Promise<boolean> {
    return inputKey !== undefined && (await this.#store.inputOf(owner, id, inputKey.key)) !== null;
  }

  #made(draft: SessionDraft, row: AgentSessionRow): void {
    const { onChanged, onEnded, onDecision } = this.#hooks;
    onChanged(row);
    for (const status of draft.ended) onEnded(status);
    for (const decision of draft.decisions) onDecision(decision);
  }

  async find(owner: string, id: string): Promise<AgentSessionRow> {
    const row = await this.#store.find(owner, id);
    if (row === null) throw unknownSession(id);
    return row;
  }
}
