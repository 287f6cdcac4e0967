const NAMES = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** Some versions of npm repeat a Ctrl-C that the terminal has already sent: it counts once. */
const ECHO_MS = 200;

/** Catches the signals that end this process. `first` and `second` resolve when they arrive. */
export const watchSignals = (
  source: Pick<NodeJS.Process, 'on'> = process,
  now: () => number = () => performance.now(),
): { readonly first: Promise<NodeJS.Signals>; readonly second: Promise<NodeJS.Signals> } => {
  const first = Promise.withResolvers<NodeJS.Signals>();
  const second = Promise.withResolvers<NodeJS.Signals>();
  let firstAt: number | null = null;
  for (const name of NAMES) {
    source.on(name, (signal) => {
      if (firstAt !== null && now() - firstAt < ECHO_MS) return;
      if (firstAt !== null) second.resolve(signal);
      firstAt ??= now();
      first.resolve(signal);
    });
  }
  return { first: first.promise, second: second.promise };
};
