import { execFile } from 'node:child_process';

/** How a program of the system ended. */
export interface ToolResult {
  /** Null: it could not be started, or took too long. */
  readonly code: number | null;
  readonly out: string;
  /** Why it failed, in its own words or in ours. */
  readonly problem: string;
}

export type RunTool = (words: readonly string[], limitMs?: number) => Promise<ToolResult>;

const LIMIT_MS = 15_000;

/** Runs programs such as systemctl, with a time limit, and with English output. */
export const toolsIn =
  (environment: Readonly<Record<string, string | undefined>>): RunTool =>
  ([program = '', ...words], limitMs = LIMIT_MS) =>
    new Promise((resolve) => {
      const env = { ...environment, LC_ALL: 'C' };
      const options = { env, timeout: limitMs, killSignal: 'SIGKILL', maxBuffer: 1_000_000 } as const;
      execFile(program, words, options, (error, out, err) => {
        if (error === null) return resolve({ code: 0, out, problem: '' });
        const { code } = error;
        if (code === 'ENOENT') return resolve({ code: null, out, problem: `there is no ${program} here` });
        return error.killed === true
          ? resolve({ code: null, out, problem: `no answer within ${limitMs / 1000} s` })
          : resolve({
              code: typeof code === 'number' ? code : null,
              out,
              problem: err.trim() || error.message,
            });
      });
    });
