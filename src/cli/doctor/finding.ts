import type { JsonObject } from '../../kit/json/json.ts';
import { printable, jsonLines } from '../../kit/text/display.ts';
import { redactText } from '../../observe/redact.ts';
import { within } from '../../kit/async/wait.ts';
import { VERSION } from '../../version.ts';
import type { CommandContext } from '../read-command-line.ts';

type Grade = 'ok' | 'warning' | 'problem' | 'skipped';

/** One line of the report. */
export interface Finding {
  readonly grade: Grade;
  readonly says: string;
  /** What to do about it. */
  readonly advice: string | null;
  /** The contents of `says` for `--json`. */
  readonly facts: JsonObject;
}

export const ok = (says: string, facts: JsonObject = {}): Finding => ({
  grade: 'ok',
  says,
  advice: null,
  facts,
});

const advised =
  (grade: Grade) =>
  (says: string, advice: string, facts: JsonObject = {}): Finding => ({ grade, says, advice, facts });

export const warning = advised('warning');
export const problem = advised('problem');

export const skipped = (says: string): Finding => ({ grade: 'skipped', says, advice: null, facts: {} });

/** One check of the doctor. */
export interface Check {
  readonly name: string;
  readonly limitMs: number;
  readonly run: (signal: AbortSignal) => Promise<Finding> | Finding;
}

/** Runs a check. Errors become findings, so that one failure does not stop the others. */
export const runCheck = async ({ limitMs, run }: Check): Promise<Finding> => {
  const limit = new AbortController();
  try {
    const asked = (async () => run(limit.signal))();
    asked.catch(() => {});
    const found = await within(asked, limitMs);
    if (found !== null) return toShow(found);
    limit.abort(new Error('the time limit of a check'));
    return problem(`no answer within ${limitMs / 1000} s`, 'run doctor again; see the lines above');
  } catch (error) {
    return toShow(problem(messageOf(error), 'see docs/operating.md'));
  }
};

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Limit for text from a backend. */
const MAX_CHARS = 2_000;

/** Masks secrets, which a backend's message may contain, and escapes control characters. */
const toShow = (finding: Finding): Finding => {
  const shown: Finding = {
    ...finding,
    says: shortened(redactText(finding.says)),
    advice: finding.advice === null ? null : shortened(redactText(finding.advice)),
  };
  return JSON.parse(printable(JSON.stringify(shown))) as Finding;
};

const shortened = (text: string): string =>
  text.length <= MAX_CHARS ? text : `${text.slice(0, MAX_CHARS)} …`;

/** Collects findings: printed as they arrive for people, at the end for programs. */
export class Report {
  readonly #world: CommandContext;
  readonly #isJson: boolean;
  readonly #findings: (Finding & { readonly check: string })[] = [];

  constructor(world: CommandContext, isJson: boolean) {
    this.#world = world;
    this.#isJson = isJson;
  }

  async ask(check: Check): Promise<Finding> {
    const progress = this.#world.progress(`checking ${check.name}`);
    // A check ends within its limit, and never throws.
    const finding = await runCheck(check);
    progress.end();
    this.#findings.push({ check: check.name, ...finding });
    if (!this.#isJson) this.#world.out(lineOf(check.name, finding));
    return finding;
  }

  /** Prints a message before the findings it belongs to. */
  say(text: string): void {
    if (!this.#isJson) this.#world.out(text);
  }

  /** Resolves to the exit code. */
  end(): number {
    const problems = this.#count('problem');
    if (this.#isJson) {
      const report = { version: VERSION, ok: problems === 0, findings: this.#findings };
      this.#world.out(jsonLines(report));
    } else {
      this.#world.out(`\n${counted(problems, 'problem')}, ${counted(this.#count('warning'), 'warning')}.\n`);
    }
    return problems === 0 ? 0 : 1;
  }

  #count(grade: Grade): number {
    return this.#findings.filter((finding) => finding.grade === grade).length;
  }
}

const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;

const lineOf = (check: string, { grade, says, advice }: Finding): string => {
  const indent = `\n${' '.repeat(GRADE_WIDTH + NAME_WIDTH)}`;
  const text = says.replaceAll('\n', indent);
  const hint = advice === null ? '' : `${indent}→ ${advice.replaceAll('\n', `${indent}  `)}`;
  return `${grade.padEnd(GRADE_WIDTH)}${check.padEnd(NAME_WIDTH)}${text}${hint}\n`;
};

const GRADE_WIDTH = 9;
const NAME_WIDTH = 14;
