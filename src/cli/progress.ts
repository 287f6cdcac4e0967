import { systemAmbient } from '../kit/ambient.ts';
import { duration } from '../kit/text/display.ts';

/** A report on work that takes time. */
export interface ProgressReport {
  /** Says what is being done now, in place of what was said before. */
  show(text: string): void;
  /** Ends the report and removes its line. Must be called after failures, too. */
  end(): void;
}

/** One line on standard error about the work in progress. */
export interface ProgressLine {
  start(text: string): ProgressReport;
  /** Makes a function that writes without mixing its text with the line. */
  besides(write: (text: string) => void): (text: string) => void;
}

interface ProgressOptions {
  readonly stream: {
    readonly isTTY?: boolean;
    readonly columns?: number;
    write(text: string): unknown;
  };
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where signals that end the process arrive. */
  readonly signals?: NodeJS.Process;
}

const TICK_MS = 1_000;
/** Shorter work needs no duration on a terminal, and no line elsewhere. */
const QUIET_MS = 3_000;
/** Elsewhere: the time between two lines about the same work. */
const REPEAT_MS = 15_000;
const USUAL_COLUMNS = 80;
const ERASE = '\r\u001B[2K';
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * On a terminal the line is drawn in place and removed at the end; it has no colours. Elsewhere it is a plain line that
 * is written only for work of some seconds, and again from time to time.
 */
export const createProgressLine = ({
  stream,
  environment,
  signals = process,
}: ProgressOptions): ProgressLine => {
  const { clock } = systemAmbient;
  const isTerminal = stream.isTTY === true && environment['TERM'] !== 'dumb';
  const tasks: Task[] = [];
  let timer: NodeJS.Timeout | null = null;
  let isDrawn = false;

  const erase = (): void => {
    if (isDrawn) stream.write(ERASE);
    isDrawn = false;
  };
  const draw = (): void => {
    const task = tasks.at(-1);
    if (!isTerminal || task === undefined) return;
    const ms = clock.now() - task.startedAt;
    const time = ms < QUIET_MS ? '' : ` ${duration(ms)}`;
    const room = widthOf(stream) - 1;
    stream.write(`${ERASE}${cut(`${task.text} …`, room - time.length)}${time}`);
    isDrawn = true;
  };
  const tick = (): void => {
    draw();
    const task = tasks.at(-1);
    if (isTerminal || task === undefined || clock.now() < task.nextLineAt) return;
    task.nextLineAt = clock.now() + REPEAT_MS;
    stream.write(`${task.text} … ${duration(clock.now() - task.startedAt)}\n`);
  };
  /** A signal would otherwise leave the line on the terminal. */
  const onSignal = (signal: NodeJS.Signals): void => {
    stop();
    erase();
    signals.kill(signals.pid, signal);
  };
  const stop = (): void => {
    if (timer !== null) clearInterval(timer);
    timer = null;
    for (const name of SIGNALS) signals.removeListener(name, onSignal);
  };
  const run = (): void => {
    if (timer !== null) return;
    timer = setInterval(tick, TICK_MS);
    timer.unref();
    if (isTerminal) for (const name of SIGNALS) signals.once(name, onSignal);
  };

  return {
    start(text) {
      const startedAt = clock.now();
      const task: Task = { text: oneLine(text), startedAt, nextLineAt: startedAt + QUIET_MS };
      tasks.push(task);
      run();
      draw();
      return {
        show(next) {
          task.text = oneLine(next);
          draw();
        },
        end() {
          const index = tasks.indexOf(task);
          if (index < 0) return;
          tasks.splice(index, 1);
          erase();
          if (tasks.length === 0) stop();
          else draw();
        },
      };
    },
    besides: (write) => (text) => {
      erase();
      write(text);
      // Half a line must not be overwritten.
      if (text.endsWith('\n')) draw();
    },
  };
};

interface Task {
  text: string;
  readonly startedAt: number;
  nextLineAt: number;
}

/** A terminal that does not know its width says 0. */
const widthOf = ({ columns = 0 }: ProgressOptions['stream']): number =>
  columns > 0 ? columns : USUAL_COLUMNS;

const cut = (text: string, room: number): string =>
  text.length <= room ? text : `${text.slice(0, Math.max(0, room - 1))}…`;

/** Only the terminal's own characters may move its cursor. */
// oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
const oneLine = (text: string): string => text.replaceAll(/[\u0000-\u001F\u007F-\u009F]+/g, ' ');
