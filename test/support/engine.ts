import { Refusals } from '../../src/codex/capabilities/refusals.ts';
import { OTHER_HISTORY } from '../../src/codex/translate/fit-history.ts';
import type { Relay } from '../../src/codex/relay/server/relay.ts';
import type { WorkerPool } from '../../src/codex/worker/supervisor.ts';
import { RequestStrategies } from '../../src/engine/plan/request-strategies.ts';
import type { DriverDeps } from '../../src/engine/drivers/driver.ts';
import { wiringOf } from '../../src/compose/backend.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { ReasoningMemory } from '../../src/engine/memory/reasoning-memory.ts';
import { ReasoningOrigins } from '../../src/engine/memory/reasoning-origins.ts';
import { createEngine, type EngineDeps } from '../../src/engine/attempt/run-turn.ts';
import { UnreadTotal } from '../../src/engine/attempt/unread-total.ts';
import { NO_MCP } from '../../src/engine/mcp/mcp-tools.ts';
import { threadSettings } from './thread-settings.ts';
import { fixedAmbient } from './turn-events.ts';

type Different = Partial<Omit<EngineDeps, 'workers' | 'driver' | 'strategies' | 'refusals' | 'clock'>> &
  Partial<Omit<DriverDeps, 'settings'>> & {
    readonly relay?: Relay | null;
    readonly workdir?: string;
    readonly preStart?: number;
  };

/** An engine with a fixed clock and a test's changes. */
export const engineOn = (
  workers: WorkerPool,
  { relay = null, ambient = fixedAmbient(), workdir, preStart = 0, ...different }: Different = {},
): Engine => {
  const { clock } = ambient;
  const refusals = new Refusals(clock);
  const driver = wiringOf(relay).driver({
    historyRules: OTHER_HISTORY,
    effortsOf: () => null,
    slugOf: (name) => name,
    preStart: { max: preStart, expected: () => null, onEnd() {}, onMiss() {}, onChange() {} },
    onNotContinued() {},
    settings: threadSettings(workdir === undefined ? {} : { workdir }),
    idleTimeoutMs: 60_000,
    mcp: NO_MCP,
    unread: new UnreadTotal({ maxBytes: Infinity, onChange() {} }),
    ambient,
    onAnomaly() {},
    ...different,
  });
  return createEngine({
    workers,
    driver,
    refusals,
    clock,
    strategies: new RequestStrategies({
      formats: null,
      carries: driver.carries,
      refusals,
      clock,
      onLearnt() {},
    }),
    reasoning: new ReasoningMemory({ maxBytes: 1_000_000, clock, onChange() {} }).of('backend', refusals),
    origin: new ReasoningOrigins().of('backend'),
    onRecalled() {},
    onForeign() {},
    onRefused() {},
    wasRenewedSince: async () => false,
    ...different,
  });
};
