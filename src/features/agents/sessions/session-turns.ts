import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import { within } from '../../../kit/async/wait.ts';
import type { AgentRuns } from '../run/port.ts';
import type { AgentSessionRow, AgentSessionStore, SessionItemRow } from '../store/port.ts';
import { SessionStep, type SessionStepDeps } from './session-step.ts';
import type { SessionItem } from './objects.ts';
import type { WorkspaceAccess } from '../workspaces/access.ts';
import type { SessionChanges } from './session-changes.ts';
import type { OpenStoredItem } from './session-draft.ts';
import { SessionLeases } from './session-leases.ts';
import type { SessionWatch } from './session-watch.ts';
import { STOPPED_TURN, UNANSWERED_TURN } from './turn-errors.ts';

export interface SessionTurnsOptions extends SessionStepDeps {
  readonly store: AgentSessionStore;
  readonly changes: SessionChanges;
  readonly runs: AgentRuns;
  readonly workspaces: readonly Workspace[];
  readonly access: WorkspaceAccess;
  /** Turns that run at the same time here. */
  readonly maxTurns: number;
  readonly watch: () => SessionWatch;
  /** For tests. */
  readonly leaseEveryMs?: number;
}

/** A place that is free elsewhere is seen after this time even if it was not reported. */
const POLL_MS = 1_000;
/** After a workspace was busy: another kind of run has taken its place. */
const BUSY_MS = 500;
/** For the clean-up of runs that are stopped, and for those that follow them: their requests are aborted at the limit. */
const END_MS = 3_000;
/** After runs were stopped: to write that. */
const STOP_MS = 10_000;
const MAX_OVERDUE = 100;
/** Workspaces have limits of their own; sessions without one have that of the server. */
const NO_LIMIT = 2 ** 31 - 1;

/** Runs the turns of sessions on this instance: each when it is its turn, and when there is a place for it. */
export class SessionTurns {
  readonly #options: SessionTurnsOptions;
  readonly #leases: SessionLeases;
  readonly #running = new Map<string, RunningTurn>();
  /** Workspaces in which nothing is started before this time. */
  readonly #busyUntil = new Map<string, number>();
  readonly #stopListening: () => void;
  #isDue = false;
  #isScheduling = false;
  #scheduling: Promise<void> = Promise.resolve();
  #isDraining = false;
  #timer: NodeJS.Timeout | undefined;
  /** Begins with another workspace each time. */
  #round = 0;

  constructor(options: SessionTurnsOptions) {
    this.#options = options;
    this.#leases = new SessionLeases({
      store: options.store,
      instance: options.instance,
      onLost: (rows) => this.#endLost(rows),
      onTick: async () => {
        await this.#endOverdue();
        this.schedule();
      },
      onError: options.onError,
      ...(options.leaseEveryMs === undefined ? {} : { everyMs: options.leaseEveryMs }),
    });
    this.#stopListening = options.runs.whenFree(() => this.schedule());
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  start(): void {
    this.#leases.start();
  }

  /** Starts turns that wait, as far as there are places. */
  schedule(): void {
    this.#isDue = true;
    if (this.#isScheduling || this.#isDraining) return;
    this.#isScheduling = true;
    this.#scheduling = this.#work().finally(() => {
      this.#isScheduling = false;
      if (this.#isDue) this.schedule();
    });
  }

  /** Ends what waits too long for its client, after this time. */
  #endOverdueIn(ms: number): void {
    const timer = setTimeout(() => void this.#endOverdue().catch(this.#options.onError), ms);
    timer.unref();
  }

  /** Waits for the running turns up to the limit, then stops the rest. */
  async drain(timeoutMs: number): Promise<void> {
    this.#isDraining = true;
    clearTimeout(this.#timer);
    await within(this.#scheduling, END_MS);
    await within(this.#all(), Math.max(timeoutMs / 2, timeoutMs - END_MS));
    for (const { turn } of this.#running.values()) turn.stop('stopped');
    await within(this.#all(), STOP_MS);
    this.#leases.stop();
    this.#stopListening();
  }

  #all(): Promise<unknown> {
    return Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  async #work(): Promise<void> {
    while (this.#isDue && !this.#isDraining) {
      this.#isDue = false;
      clearTimeout(this.#timer);
      try {
        const isLeft = await this.#startAll();
        if (isLeft) this.#later(POLL_MS);
      } catch (error) {
        this.#options.onError(error);
        this.#later(POLL_MS);
      }
    }
  }

  #later(ms: number): void {
    if (this.#isDraining) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.schedule(), ms);
    this.#timer.unref();
  }

  /** Whether turns still wait. */
  async #startAll(): Promise<boolean> {
    const { store, maxTurns } = this.#options;
    const names = await store.queues();
    if (names.length === 0) return false;
    this.#round += 1;
    const first = this.#round % names.length;
    let isLeft = false;
    for (const name of [...names.slice(first), ...names.slice(0, first)]) {
      while (this.#running.size < maxTurns && !this.#isDraining) {
        if (!(await this.#startOne(name))) break;
      }
      isLeft ||= true;
    }
    return isLeft;
  }

  /** False: nothing of this workspace can start now. */
  async #startOne(name: string): Promise<boolean> {
    const { store, runs, workspaces, access, ambient } = this.#options;
    const workspace = workspaces.find(({ label }) => label === name) ?? null;
    const isUnknown = name !== '' && workspace === null;
    if (workspace !== null && runs.free(workspace) <= 0) return false;
    if ((this.#busyUntil.get(name) ?? 0) > ambient.clock.now()) return false;
    const limit = isUnknown ? NO_LIMIT : (workspace?.runs ?? NO_LIMIT);
    // Then the store has no place either, and need not be asked.
    if (this.#runningIn(name) >= limit) return false;
    const row = await store.claim(name, this.#leases.current, limit);
    if (row === null) return false;
    if (this.#isDraining) {
      await this.#giveBack(row);
      return false;
    }
    if (isUnknown) await this.#failUnknown(row, name);
    else if (workspace !== null && access.byLabel(row.owner, name) === null) await this.#refuse(row, name);
    else this.#run(row, workspace);
    return true;
  }

  #runningIn(name: string): number {
    return [...this.#running.values()].filter(({ workspace }) => workspace === name).length;
  }

  #run(row: AgentSessionRow, workspace: Workspace | null): void {
    const { watch } = this.#options;
    const turn = new SessionStep(row, workspace, this.#options);
    const letGo = this.#leases.hold(row.id, () => turn.stop('lost'));
    const stopWatching = watch().on(row.id, (what) => {
      if (what === 'status') turn.check();
    });
    const ended = this.#ended(turn, row).finally(() => {
      stopWatching();
      letGo();
      if (this.#running.get(row.id)?.turn === turn) this.#running.delete(row.id);
      this.schedule();
    });
    this.#running.set(row.id, { workspace: row.workspace, turn, ended });
  }

  async #ended(turn: SessionStep, { workspace }: AgentSessionRow): Promise<void> {
    const { clock } = this.#options.ambient;
    const { outcome, row } = await turn.run();
    if (outcome === 'busy') this.#busyUntil.set(workspace, clock.now() + BUSY_MS);
    const deadlineAt = row?.deadlineAt ?? null;
    if (deadlineAt !== null) this.#endOverdueIn(deadlineAt - clock.now());
  }

  /** This server began to stop while it took the turn. */
  async #giveBack({ owner, id }: AgentSessionRow): Promise<void> {
    await this.#options.changes.change(owner, id, (draft, { phase }) => {
      if (phase !== 'running') return undefined;
      draft.requeue();
      return true;
    });
  }

  async #failUnknown({ owner, id }: AgentSessionRow, name: string): Promise<void> {
    await this.#options.changes.change(owner, id, (draft) => {
      draft.fail(withoutWorkspace(name), 'invalid_request');
      return true;
    });
  }

  /** The key may not use the workspace any more. */
  async #refuse({ owner, id }: AgentSessionRow, name: string): Promise<void> {
    const message = `This key may not use the workspace '${name}' any more.`;
    await this.#options.changes.change(owner, id, (draft) => {
      draft.end({ status: 'failed', error: { code: 'invalid_request', message } });
      return true;
    });
  }

  /** The instances that ran these turns have stopped. What the turns have done is not undone, and they do not run again. */
  async #endLost(rows: readonly AgentSessionRow[]): Promise<void> {
    const { changes, store, onError } = this.#options;
    for (const { owner, id, rev } of rows) {
      try {
        const open = await openItems(store, owner, id);
        await changes.change(owner, id, (draft, row) => {
          if (row.phase !== 'running' || row.rev !== rev || draft.turn === null) return undefined;
          draft.cut(open.filter(({ item }) => item.turn_id === draft.turn?.id));
          draft.end({ status: 'failed', error: STOPPED_TURN });
          return true;
        });
      } catch (error) {
        onError(error);
      }
    }
    this.schedule();
  }

  async #endOverdue(): Promise<void> {
    const { changes, store, ambient, onError } = this.#options;
    for (const { owner, id } of await store.overdue(MAX_OVERDUE)) {
      try {
        await changes.change(owner, id, (draft, row) => {
          const isDue = row.deadlineAt !== null && row.deadlineAt <= ambient.clock.now();
          if (row.phase !== 'waiting' || !isDue) return undefined;
          draft.end({ status: 'failed', error: UNANSWERED_TURN });
          return true;
        });
      } catch (error) {
        onError(error);
      }
    }
  }
}

interface RunningTurn {
  /** Its name; empty: it has none. */
  readonly workspace: string;
  readonly turn: SessionStep;
  readonly ended: Promise<void>;
}

/** Why a session cannot go on. */
export const withoutWorkspace = (name: string): string =>
  `The workspace '${name}' of this session is not configured any more.`;

/** The items of the last turn that have not ended. */
const openItems = async (
  store: AgentSessionStore,
  owner: string,
  id: string,
): Promise<readonly OpenStoredItem[]> => {
  const [last] = (await store.turns(owner, id, { after: null, order: 'desc', limit: 1 })) ?? [];
  if (last === undefined) return [];
  const open: OpenStoredItem[] = [];
  let outputs = 0;
  let after: string | null = null;
  for (;;) {
    const page = { after, order: 'asc', limit: 100 } as const;
    const rows: readonly SessionItemRow[] = (await store.items(owner, id, last.id, page)) ?? [];
    for (const row of rows) {
      const item = JSON.parse(row.body ?? 'null') as SessionItem | null;
      if (item === null || !isOutput(item)) continue;
      if (item.status === 'in_progress') open.push({ item, pos: row.pos, index: outputs });
      outputs += 1;
    }
    const next = rows.at(-1);
    if (next === undefined) return open;
    after = next.id;
  }
};

/** Whether the item has an index: the client did not send it. */
const isOutput = (item: SessionItem): boolean =>
  item.type !== 'function_call_output' && !(item.type === 'message' && item.role === 'user');
