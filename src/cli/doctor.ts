import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';

import type { BackendState } from '../compose/banner.ts';
import { authApiOf } from '../compose/relay.ts';
import { valuesOf } from '../config/schema.ts';
import { FORWARDING_TABLES } from '../features/forwarding/feature.ts';
import { openDispatcher } from '../codex/relay/transport/dispatcher.ts';
import type { RunCommand, CommandContext } from './read-command-line.ts';
import { backendUrl, providerCheck, reachCheck } from './doctor/reach.ts';
import { codexCheck, judgeCodex, promptCheck, serverCheck } from './doctor/codex-check.ts';
import { skipped, type Finding, Report, ok, problem, warning, type Check } from './doctor/finding.ts';
import { loginCheck, askOwner } from './doctor/login-check.ts';
import { nodeCheck, settingsCheck, stateCheck } from './doctor/machine.ts';
import { startProbe, type Probe } from './doctor/probe.ts';
import {
  checkTransports,
  cacheTurns,
  answerFailure,
  forcedTurn,
  isSilentAnswer,
  judgeCache,
  judgeForced,
  judgeLimits,
  judgeTurn,
  tinyTurn,
  type Answer,
} from './doctor/turns.ts';
import { openWorkspaceTrials } from './doctor/workspaces.ts';
import { commandLine, thisInvocation } from './invocation.ts';
import { loadSettings } from './explain.ts';
import { STORE_SCHEMA, describeStore, storeFile, openConfiguredStore } from '../compose/open-store.ts';
import type { Config } from '../config/schema.ts';
import { systemAmbient } from '../kit/ambient.ts';
import { openAdmin } from '../store/admin/open-admin.ts';

const START_LIMIT_MS = 60_000;
const TURN_LIMIT_MS = 90_000;

/** Diagnoses problems: each line says what works, or what to do. */
export const doctor: RunCommand = async (flags, world) => {
  const report = new Report(world, flags.has('json'));
  if (!flags.has('no-turns')) {
    world.say(
      'With a login or a provider this sends up to nine short requests, about 3,200 tokens in total;\n' +
        '--no-turns skips them.\n\n',
    );
  }
  await report.ask(nodeCheck);
  await report.ask(codexCheck(world.environment));
  const settings = await report.ask(settingsCheck(world.environment));
  // Everything else depends on them.
  if (settings.grade === 'problem') return report.end();
  await runFreeChecks(report, world);
  if (flags.has('no-turns')) await report.ask(unasked('turn', '--no-turns'));
  else await runLiveChecks(report, world);
  return report.end();
};

const unasked = (name: string, why: string) => ({ name, limitMs: 1_000, run: () => skipped(why) });

const loginCommandOf = ({ environment }: CommandContext, ...flags: readonly string[]): string =>
  commandLine(thisInvocation(environment), 'login', ...flags);

/** The other checks that cost nothing. */
const runFreeChecks = async (report: Report, world: CommandContext): Promise<void> => {
  const { environment } = world;
  const config = await loadSettings(environment);
  await report.ask(stateCheck(config.state.dir));
  await report.ask(storeCheck(config));
  const openFor = (target: string) => openDispatcher([target], environment);
  await report.ask(
    loginCheck({
      config,
      now: new Date(),
      loginCommand: loginCommandOf(world),
      tokenCommand: loginCommandOf(world, '--with-access-token'),
      askOwner: (token, signal) =>
        askOwner(token, { authApiUrl: authApiOf(environment), openDispatcher: openFor, signal }),
    }),
  );
  await report.ask(serverCheck(config.http));
  const { idleTimeoutMs } = config.upstream;
  const reaching = { idleTimeoutMs, openDispatcher: openFor };
  const url = await backendUrl(config).catch(() => null);
  await report.ask(
    url === null
      ? unasked('backend', 'nothing to check: neither a login nor a provider is configured')
      : reachCheck({ url, ...reaching }),
  );
  if (config.workspaces.length > 0) await tryWorkspaces(report, config, environment);
  const second = valuesOf(FORWARDING_TABLES.settings, config);
  for (const [name, baseUrl, apiKey] of [
    ['embeddings', second.embeddingsUrl, second.embeddingsKey],
    ['transcriptions', second.transcriptionsUrl, second.transcriptionsKey],
  ] as const) {
    if (baseUrl !== null) await report.ask(providerCheck({ name, baseUrl, apiKey }, reaching));
  }
};

/** Codex's tools need a sandbox, which not every machine allows. */
const tryWorkspaces = async (
  report: Report,
  config: Config,
  environment: CommandContext['environment'],
): Promise<void> => {
  const opening = openWorkspaceTrials(config, environment);
  const opened = await opening.catch((error: unknown) => error);
  if (opened instanceof Error) {
    const run = () => problem(`the sandboxes cannot be tried: ${opened.message}`, 'see the lines above');
    await report.ask({ name: 'workspace', limitMs: 1_000, run });
    return;
  }
  const trials = await opening;
  try {
    for (const check of trials.checks) await report.ask(check);
  } finally {
    await trials.close();
  }
};

/** The live probe: sends typical requests to the real model through the whole server. */
const runLiveChecks = async (report: Report, world: CommandContext): Promise<void> => {
  const starting = startProbe(world.environment, {});
  const started = await report.ask({
    name: 'app-server',
    limitMs: START_LIMIT_MS,
    run: async () => {
      const { codex, isReady } = await starting;
      return judgeCodex(codex, isReady);
    },
  });
  if (!('runs' in started.facts)) {
    // If it starts after all, stop it.
    void starting.then((late) => late.stop()).catch(() => {});
    return;
  }
  const probe = await starting;
  try {
    if (probe.isReady) await report.ask(promptCheck(world.environment, START_LIMIT_MS));
    await (probe.state.kind === 'signed-out'
      ? report.ask(unasked('turn', 'not signed in'))
      : askTurns(report, world, probe));
  } finally {
    await probe.stop();
  }
};

const isChatGpt = (state: BackendState): boolean => state.kind === 'login' && state.login === 'chatgpt';

/** Null: there is no login. A new one does not help while an access token is used, and its own line says what does. */
const signInAdvice = (state: BackendState, loginCommand: string): string | null => {
  if (state.kind === 'upstream') return null;
  const isToken = state.kind === 'login' && state.accessToken !== null;
  return isToken ? 'see the line "login" above' : `run ${loginCommand}`;
};

const askTurns = async (report: Report, world: CommandContext, probe: Probe): Promise<void> => {
  const signIn = signInAdvice(probe.state, loginCommandOf(world));
  const options = { effort: probe.state.kind === 'login' ? 'low' : null } as const;
  let last: Answer | null = null;
  const findings: Finding[] = [];
  for (const lane of isChatGpt(probe.state) ? (['lite', 'full'] as const) : [null]) {
    const finding = await report.ask({
      name: lane === null ? 'turn' : `turn, ${lane}`,
      limitMs: START_LIMIT_MS + TURN_LIMIT_MS,
      run: async (signal) => {
        const inFormat = lane === null ? probe : await startProbe(world.environment, { [LANE]: lane });
        try {
          last = await inFormat.ask(tinyTurn(options), signal);
          return judgeTurn(last, signIn);
        } finally {
          if (inFormat !== probe) await inFormat.stop();
        }
      },
    });
    if (isSilentAnswer(finding)) return;
    findings.push(finding);
  }
  // If no turn works, advice on better ones is irrelevant.
  if (findings.every(({ grade }) => grade === 'problem')) return;
  if (isChatGpt(probe.state)) await measureTransports(report, world, signIn);
  const forced = await report.ask({
    name: 'forced tool',
    limitMs: TURN_LIMIT_MS,
    run: async (signal) => judgeForced(await probe.ask(forcedTurn(options), signal), signIn),
  });
  if (isSilentAnswer(forced)) return;
  await report.ask(
    probe.state.kind === 'demo'
      ? unasked('cache', 'the demo model has no cache')
      : {
          name: 'cache',
          limitMs: 2 * TURN_LIMIT_MS,
          run: async (signal) => {
            const [first, second] = cacheTurns(options, randomUUID());
            const begun = await probe.ask(first, signal);
            const failed = answerFailure(begun, signIn);
            if (failed !== null) return failed;
            last = await probe.ask(second, signal);
            return judgeCache(last, signIn);
          },
        },
  );
  await report.ask({
    name: 'limits',
    limitMs: 1_000,
    run: () => judgeLimits(last?.headers ?? new Headers()),
  });
};

/** Both transports of a ChatGPT login. Without the relay codex chooses its own. */
const measureTransports = async (
  report: Report,
  world: CommandContext,
  signIn: string | null,
): Promise<void> => {
  const { upstream } = await loadSettings(world.environment);
  if (upstream.wire === 'off') {
    await report.ask(unasked('transport', 'PROXY_WIRE=off'));
    return;
  }
  await checkTransports((check) => report.ask(check), {
    configured: upstream.chatgptTransport,
    signIn,
    limitMs: START_LIMIT_MS + 2 * TURN_LIMIT_MS,
    turn: async (transport, signal) => {
      const only = await startProbe(world.environment, { [TRANSPORT]: transport });
      try {
        const turn = tinyTurn({ effort: 'low' });
        const first = await only.stream(turn, signal);
        // The first one also opens a connection.
        return first.firstMs === null ? first : await only.stream(turn, signal);
      } finally {
        await only.stop();
      }
    },
  });
};

/** The settings that decide the request format and the transport of a ChatGPT login. */
const LANE = 'PROXY_CHATGPT_LANE';
const TRANSPORT = 'PROXY_CHATGPT_TRANSPORT';

/** Whether the store can be opened and read. It is not created. */
export const storeCheck = (config: Config): Check => ({
  name: 'store',
  limitMs: 20_000,
  async run() {
    const says = describeStore(config.state);
    if (config.state.store === 'off') {
      return warning(
        says,
        'clients that use previous_response_id, conversations or background need PROXY_STORE=on',
      );
    }
    if (config.state.databaseUrl === null && !(await isThere(storeFile(config.state)))) {
      return ok(`${says}; made at the first start`);
    }
    try {
      const store = await openConfiguredStore(config);
      try {
        await store.kept.bytes('');
      } finally {
        await store.close();
      }
      const lost = await rowsWithoutKey(config);
      return lost === 0
        ? ok(says, { kind: store.kind })
        : warning(
            `${says}; ${lost} ${lost === 1 ? 'row' : 'rows'} cannot be read: ${lost === 1 ? 'its key is' : 'their keys are'} not in PROXY_STORE_KEY`,
            'set PROXY_STORE_KEY to the keys of before, the current one first; `db status` counts the rows of each key',
          );
    } catch (error) {
      return problem(
        `${says}: ${error instanceof Error ? error.message : String(error)}`,
        'check PROXY_DATABASE_URL, PROXY_STORE_KEY or the file, or set PROXY_STORE=off',
      );
    }
  },
});

const rowsWithoutKey = async ({ state }: Config): Promise<number> => {
  const { databaseUrl, keys } = state;
  const admin = await openAdmin({
    databaseUrl,
    file: storeFile(state),
    keys,
    clock: systemAmbient.clock,
    schema: STORE_SCHEMA,
  });
  if (admin === null) return 0;
  try {
    const { content } = await admin.status();
    const unknown = (content?.encryption ?? []).filter(({ form }) => form === 'unknown key');
    return unknown.reduce((sum, { rows }) => sum + rows, 0);
  } finally {
    await admin.close();
  }
};

const isThere = async (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );
