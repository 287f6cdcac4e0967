import { failure, failureOf } from '../../canonical/failure/failure.ts';
import type { Item, Produced, ToolCall } from '../../canonical/request/item.ts';
import type { Path } from '../../canonical/request/path.ts';
import { titleOf } from '../../canonical/request/tool.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { Turn } from '../../canonical/context/turn-context.ts';
import { addUsage, type Usage } from '../../canonical/events/usage.ts';
import { wellFormed } from '../../canonical/events/well-formed.ts';
import { unlessAborted } from '../../kit/async/wait.ts';
import { append } from '../../kit/collections/lists.ts';
import type { Ambient } from '../../kit/ambient.ts';
import { fitsWildcard } from '../../kit/text/patterns.ts';
import type { PlanTurn } from '../engine.ts';
import { FreshIds, type Step } from '../steps/step.ts';
import { callsOf, ProseRequest, type ProseOptions } from './prose-request.ts';
import { CallTaking } from './take-calls.ts';

/** How tools reach a backend: declared, or described in a message. */
export type ToolTransport = 'native' | 'prose';

/** The transport for models whose names match the pattern. */
export interface TransportRule {
  readonly pattern: string;
  readonly choice: ToolTransport;
}

/** The first matching rule counts. */
export const transportFor = (rules: readonly TransportRule[], model: string): ToolTransport =>
  rules.find(({ pattern }) => fitsWildcard(pattern, model))?.choice ?? 'native';

export interface ProseEngineOptions extends ProseOptions {
  /** Whether tools are described to this model in prose. */
  readonly isProse: (model: string) => boolean;
  readonly ambient: Ambient;
  readonly onAnomaly: (anomaly: 'undeclared-call' | 'second-call-dropped' | 'half-call-dropped') => void;
}

/** How often a model is asked in one turn: again if all tools that it called are unknown. */
const MAX_ANSWERS = 4;

/** Describes tools in prose to models that cannot be given any, and reads their calls from the text. */
export const toolsInProse: Step<{ readonly prose: ProseEngineOptions }> = {
  name: 'prose-tools',
  why: 'Models without tool calling get their tools as text and write calls as text. Inside of all steps that judge calls, which then see ordinary ones.',
  wrap:
    (next, { prose: options }) =>
    (request, context) => {
      if (!options.isProse(request.model)) return next(request, context);
      const prose = new ProseRequest(request, options);
      if (prose.isTheSame) return next(request, context);
      const plan = next(prose.outline(), context);
      return {
        ...plan,
        ignored: ownPaths(prose, plan.ignored),
        refused: plan.refused.map((refusal) => ({
          ...refusal,
          path: prose.ownPath(refusal.path) ?? 'items',
        })),
        run(signal, onSettled) {
          const progress = { isAccepted: false };
          const events = runTurn({ request, context }, { next, options, signal, onSettled, progress });
          return wellFormed(events, {
            clock: options.ambient.clock,
            onThrow(error) {
              if (!progress.isAccepted || signal.aborted) throw error;
              return { kind: 'failed', failure: failureOf(error) };
            },
          });
        },
      };
    },
};

const ownPaths = (prose: ProseRequest, paths: readonly Path[]): readonly Path[] =>
  paths.flatMap((path) => prose.ownPath(path) ?? []);

interface ProseRun {
  readonly next: PlanTurn;
  readonly options: ProseEngineOptions;
  readonly signal: AbortSignal;
  readonly onSettled: (() => void) | undefined;
  readonly progress: { isAccepted: boolean };
}

/**
 * As with declared tools, a call of an unknown tool never reaches the client: it is answered with an error, and the
 * model is asked again.
 */
async function* runTurn(
  { request, context }: Turn,
  { next, options, signal, onSettled, progress }: ProseRun,
): AsyncGenerator<TurnEvent> {
  const ids = new FreshIds();
  const items = [...request.items];
  let usage: Usage | null = null;
  for (let answer = 1; ; answer += 1) {
    const prose = new ProseRequest({ ...request, items: [...items] }, options);
    const asked = await unlessAborted(prose.write(context.caller, signal), signal);
    // With nothing to call, what looks like a call is text.
    const callable = request.toolChoice.mode === 'none' ? [] : prose.tools;
    const taking = new CallTaking({
      callOf: callsOf(callable),
      isParallel: request.parallelToolCalls !== false,
      ids: options.ambient.ids,
      signal,
      onDropped: () => options.onAnomaly('second-call-dropped'),
      onHalf: () => options.onAnomaly('half-call-dropped'),
    });
    let isSettled = false;
    let isLost = false;
    const events = next(asked, context).run(signal, () => {
      isSettled = true;
    });
    for await (const event of callable.length === 0 ? events : taking.take(events)) {
      progress.isAccepted = true;
      if (event.type === 'turn-accepted') {
        if (answer === 1) yield { ...event, ignored: ownPaths(prose, event.ignored) };
      } else if (event.type !== 'turn-ended') yield ids.rename(event);
      else {
        usage = addUsage(usage, event.usage);
        taking.unknown.forEach(() => options.onAnomaly('undeclared-call'));
        isLost = event.outcome.kind === 'completed' && taking.unknown.length > 0;
        if (isLost && answer < MAX_ANSWERS && context.budget.retry('unknown tool')) break;
        // Not before: a model that is asked again needs its slot.
        if (isSettled) onSettled?.();
        yield { ...event, usage, ...(isLost ? { outcome: HOPELESS } : {}) };
        return;
      }
    }
    const titles = callable.map(({ title }) => title);
    append(items, sentBack(taking, titles));
    ids.nextAnswer();
  }
}

const HOPELESS = {
  kind: 'failed',
  failure: failure('upstream_error', {
    message: 'The model keeps calling tools that were not declared.',
  }),
} as const;

/** What the model has produced, and an error for each of its calls. */
const sentBack = ({ produced, unknown }: CallTaking, titles: readonly string[]): readonly Item[] => [
  ...produced.map(withoutId),
  ...unknown.map((call): Item => ({
    kind: 'tool-output',
    tool: 'function',
    callId: call.callId,
    output: `Error: there is no tool named "${titleOf(call)}". The tools are: ${titles.join(', ')}.`,
  })),
];

const withoutId = (item: Produced | ToolCall): Item => {
  const { id: _, ...rest } = item;
  return item.kind === 'message' ? rest : item;
};
