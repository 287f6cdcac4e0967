import type { LineTransport } from '../../src/codex/rpc/transport.ts';

/**
 * Two connected ends, for tests. Lines arrive in a later microtask, as from a process: code that requires an
 * answer within the call fails here.
 */
export const linkedTransports = (): readonly [LineTransport, LineTransport] => {
  const [left, right] = [createEnd(), createEnd()];
  left.link(right);
  right.link(left);
  return [left.transport, right.transport];
};

interface End {
  readonly transport: LineTransport;
  link(other: End): void;
  receive(line: string): void;
  end(): void;
}

const nobodyListens = (): void => {};

const createEnd = (): End => {
  let other: End | null = null;
  let open = true;
  let onMessage: (line: string) => void = nobodyListens;
  let onClose: (cause: Error | null) => void = nobodyListens;
  const end = (): void => {
    if (!open) return;
    open = false;
    onClose(null);
  };
  return {
    link: (linked) => {
      other = linked;
    },
    receive: (line) => {
      if (open) onMessage(line);
    },
    end,
    transport: {
      send: (line) => {
        const whole = typeof line === 'string' ? line : line.join('');
        if (open) queueMicrotask(() => other?.receive(whole));
      },
      onMessage: (listener) => {
        onMessage = listener;
      },
      onClose: (listener) => {
        onClose = listener;
      },
      close: () => {
        end();
        queueMicrotask(() => other?.end());
      },
    },
  };
};
