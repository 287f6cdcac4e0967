import type { Logger } from './log.ts';

/** What codex says about itself. */
export interface CodexReport {
  /** The version that this package was tested with. */
  readonly tested: string;
  /** The version that the last app-server named; null: none has started, or it named none. */
  readonly runs: string | null;
  readonly warnings: readonly string[];
}

/** A warning may name what a client sent, such as a model, so their number is limited. */
const MAX_WARNINGS = 50;
const MAX_CHARS = 1_000;

/** codex says this on every machine without it, and then uses its own for the sandbox of workspaces. */
export const HARMLESS_WARNING = /^Codex could not find bubblewrap\b/;
const HARMLESS = { note: 'harmless: codex uses the one that it brings along' };

/** Logs the version and the warnings of codex, each once, and keeps them for the doctor. */
export class CodexWatch {
  readonly #tested: string;
  readonly #logger: Logger;
  readonly #warnings = new Set<string>();
  #runs: string | null | undefined;
  #isFull = false;

  constructor(tested: string, logger: Logger) {
    this.#tested = tested;
    this.#logger = logger;
  }

  /** An app-server has named its version; null: it could not be read. */
  started(version: string | null): void {
    if (version === this.#runs) return;
    this.#runs = version;
    const mismatch = versionMismatch(this.report());
    if (mismatch !== null) this.#logger.warn({ tested: this.#tested, runs: version }, mismatch);
  }

  warned(text: string): void {
    const warning = text.length <= MAX_CHARS ? text : `${text.slice(0, MAX_CHARS)} …`;
    if (this.#warnings.has(warning) || this.#isFull) return;
    if (this.#warnings.size >= MAX_WARNINGS) {
      this.#isFull = true;
      this.#logger.warn({ logged: MAX_WARNINGS }, 'codex has more warnings, which are not logged');
      return;
    }
    this.#warnings.add(warning);
    if (HARMLESS_WARNING.test(warning)) this.#logger.info({ warning, ...HARMLESS }, 'codex has a warning');
    else this.#logger.warn({ warning }, 'codex has a warning');
  }

  report(): CodexReport {
    return { tested: this.#tested, runs: this.#runs ?? null, warnings: [...this.#warnings] };
  }
}

/** A sentence if codex has another version than the one that was tested; otherwise null. */
export const versionMismatch = ({ tested, runs }: Pick<CodexReport, 'tested' | 'runs'>): string | null =>
  runs === tested ? null : `tested with codex ${tested}, runs ${runs ?? 'an unknown version'}`;
