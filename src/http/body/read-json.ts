import { gatewayError, failure, GatewayError } from '../../canonical/failure/failure.ts';
import { JsonLimitError, readJsonSteps, type JsonLimits } from '../../kit/json/json-reader.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import { runSliced } from '../../kit/async/event-loop.ts';
import { readBytes, type ReadLimits } from './read-bytes.ts';
import { unlessAborted } from '../../kit/async/wait.ts';
import type { BodyBudget } from '../../turns/body-budget.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { LoadLimits } from '../../turns/turn-state.ts';

interface ReadJsonLimits extends ReadLimits {
  readonly maxDepth?: number;
  /** What an empty body means; absent: it is invalid. */
  readonly ifEmpty?: JsonObject;
}

/** More than a tool's JSON schema needs. The app-server does not answer beyond 128 levels, some of which wrap the body. */
const MAX_DEPTH = 100;
/** Far more than any tool or conversation has; more would be slow to process. */
const MAX_MEMBERS = 10_000;
const MAX_VALUES = 2_000_000;

const beyond = ({ limit }: JsonLimitError, limits: JsonLimits): GatewayError => {
  const messages: Readonly<Record<keyof JsonLimits, string>> = {
    depth: `The JSON body is nested too deeply: at most ${limits.depth} levels are allowed.`,
    members: `The JSON body has an object with too many members: at most ${limits.members} are allowed.`,
    values: `The JSON body has too many values: at most ${limits.values} are allowed.`,
  };
  return gatewayError('invalid_json', { message: messages[limit] });
};

/** Parses JSON of a client within the limits of bodies. */
export const parseJson = async (
  bytes: Uint8Array,
  signal: AbortSignal | undefined,
  maxDepth = MAX_DEPTH,
): Promise<unknown> => {
  const limits = { depth: maxDepth, members: MAX_MEMBERS, values: MAX_VALUES };
  try {
    return await runSliced(readJsonSteps(bytes, limits), signal ?? null);
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof JsonLimitError) throw beyond(error, limits);
    throw new GatewayError(failure('invalid_json'), { cause: error });
  }
};

/** The body as JSON, whatever its content type. */
export const readJson = async (request: Request, limits: ReadJsonLimits): Promise<unknown> => {
  const bytes = await readBytes(request, limits);
  if (bytes.length === 0 && limits.ifEmpty !== undefined) return limits.ifEmpty;
  return parseJson(bytes, limits.signal, limits.maxDepth);
};

export interface BodyDeps {
  readonly bodies: BodyBudget;
  readonly maxBodyBytes: number;
}

/** The JSON body of a request that runs no turn. Its bytes are held until the exchange ends. */
export const readHeldBody = async (
  http: Request,
  exchange: Exchange,
  { bodies, maxBodyBytes }: BodyDeps,
  options: Pick<ReadJsonLimits, 'ifEmpty'> = {},
): Promise<unknown> => {
  const room = bodies.open(exchange.caller(), exchange.signal, (error) => exchange.abort(error));
  exchange.atEnd(() => room.letGo());
  return unlessAborted(
    readJson(http, { maxBytes: maxBodyBytes, room, signal: exchange.signal, ...options }),
    exchange.signal,
  );
};

/** What is loaded from the store counts like a body until the answer is sent. */
export const loadLimits = (
  exchange: Exchange,
  { bodies }: { readonly bodies: BodyBudget },
): LoadLimits & { readonly caller: string } => {
  const { signal } = exchange;
  const caller = exchange.caller();
  const held = bodies.open(caller, signal, (error) => exchange.abort(error));
  exchange.atEnd(() => held.letGo());
  return { caller, signal, onBytes: (bytes) => held.grow(bytes) };
};
