/** What the model hears of a command. */
export interface CommandOutput {
  readonly output: string;
  /** Null: it was ended by a signal, or still runs. */
  readonly exitCode: number | null;
  readonly durationMs: number | null;
  /** Names the program, if it goes on in the background. */
  readonly session: number | null;
}

const OUTPUT = /^Output:\n/m;

/** Reads the output of `exec_command`; null if the command did not start. */
export const readCommandOutput = (text: string): CommandOutput | null => {
  const at = OUTPUT.exec(text);
  if (at === null || !text.startsWith('Chunk ID:')) return null;
  const head = text.slice(0, at.index);
  const code = /^Process exited with code (-?\d+)$/m.exec(head)?.[1];
  const seconds = /^Wall time: ([\d.]+) seconds$/m.exec(head)?.[1];
  const session = /^Process running with session ID (\d+)$/m.exec(head)?.[1];
  return {
    output: text.slice(at.index + at[0].length),
    exitCode: code === undefined ? null : Number(code),
    durationMs: seconds === undefined ? null : Math.round(Number(seconds) * 1000),
    session: session === undefined ? null : Number(session),
  };
};
