import type { JsonObject } from '../../kit/json/json.ts';
import { printable } from '../../kit/text/display.ts';
import { redactText } from '../../observe/redact.ts';
import { within } from '../../kit/async/wait.ts';

export type Grade = 'ok' | 'warning' | 'problem' | 'skipped';

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
