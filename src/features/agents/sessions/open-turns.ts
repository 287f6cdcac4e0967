import type { AgentSessionRow, SessionPhase } from '../store/port.ts';

const OPEN_STATUSES = ['queued', 'in_progress', 'waiting'] as const;
type OpenStatus = (typeof OPEN_STATUSES)[number];

interface OpenTurnsOptions {
  readonly find: (owner: string, id: string) => Promise<AgentSessionRow | null>;
  readonly onCount: (status: OpenStatus, count: number) => void;
  readonly onError: (error: unknown) => void;
}

type ChangedRow = Pick<AgentSessionRow, 'id' | 'owner' | 'phase'>;

/** Counts the turns that this server has seen and that have not ended, also those that end elsewhere. */
export class OpenTurns {
  readonly #options: OpenTurnsOptions;
  readonly #open = new Map<string, { readonly owner: string; readonly status: OpenStatus }>();

  constructor(options: OpenTurnsOptions) {
    this.#options = options;
  }

  changed({ id, owner, phase }: ChangedRow): void {
    const status = statusOf(phase);
    if (status === null) this.#open.delete(id);
    else this.#open.set(id, { owner, status });
    this.#count();
  }

  /** A session was changed, here or elsewhere; `*`: any may have been. */
  heard(id: string): void {
    for (const one of id === '*' ? [...this.#open.keys()] : [id]) {
      const known = this.#open.get(one);
      if (known !== undefined) void this.#look(one, known.owner);
    }
  }

  async #look(id: string, owner: string): Promise<void> {
    try {
      const row = await this.#options.find(owner, id);
      this.changed(row ?? { id, owner, phase: 'idle' });
    } catch (error) {
      this.#options.onError(error);
    }
  }

  #count(): void {
    const statuses = [...this.#open.values()].map(({ status }) => status);
    for (const status of OPEN_STATUSES) {
      this.#options.onCount(status, statuses.filter((one) => one === status).length);
    }
  }
}

const statusOf = (phase: SessionPhase): OpenStatus | null => {
  if (phase === 'idle' || phase === 'failed') return null;
  return phase === 'queued' || phase === 'waiting' ? phase : 'in_progress';
};
