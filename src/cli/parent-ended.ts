const LOOK_EVERY_MS = 250;

export interface ParentWatch {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly parentId: () => number;
  readonly onEnded: () => void;
}

/**
 * Calls `onEnded` when the shell of an npm script has ended. npm sends a SIGTERM to that shell, and most shells end
 * without passing it on, which would leave the server running. Returns a function that stops watching.
 */
export const watchParent = ({ environment, parentId, onEnded }: ParentWatch): (() => void) => {
  if (environment['npm_lifecycle_event'] === undefined) return () => {};
  const first = parentId();
  const timer = setInterval(() => {
    if (parentId() === first) return;
    clearInterval(timer);
    onEnded();
  }, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
};
