import type { TurnEvent, ItemDelta } from '../../canonical/events/turn-event.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { Clock, IdSource } from '../../kit/ambient.ts';
import { promptMarker, type DetectedClient } from '../../apis/clients/detect-client.ts';
import type { Dialect as ApiDialect } from '../../turns/api.ts';
import { addBlocks, callsFromBlocks } from './add-blocks.ts';
import { stopRules, type StopRules, type StopSettings, stopAfterTools } from './stop-after-tools.ts';
import type { NoBlockReason } from './use-tool-block.ts';
import { invalidChoice } from '../../apis/validation.ts';
import { isMessage, type Message, type Part, type Produced } from '../../canonical/request/item.ts';
import type { Json } from '../../kit/json/json.ts';
import { movedAnnotation, SEPARATOR } from '../shared/joined-text.ts';

/** Configuration of the dialects of one API. */
export interface DialectSettings extends StopSettings {
  readonly mode: OutputMode;
  readonly onNativeOnly: (why: NoBlockReason) => void;
}

/** How the calls of one answer are sent to its client. */
export interface OutputDialect {
  readonly chosen: ChosenMode;
  /** When to end the answer early; null: never. */
  readonly stop: StopRules | null;
  /** Runs before the layout of Responses, or after that of Chat. */
  readonly transform: (events: AsyncIterable<TurnEvent>) => AsyncIterable<TurnEvent>;
}

interface DialectOptions {
  readonly headers: Headers;
  readonly client: DetectedClient;
  readonly request: TurnRequest;
  readonly settings: DialectSettings;
  readonly ids: IdSource;
}

/**
 * Chooses the dialect. With declared tools the model makes native calls, and blocks are added. Without them, the
 * prompt may ask the model for blocks: these stay text, and become calls only if the request asks for it.
 */
export const dialectOf = ({ headers, client, request, settings, ids }: DialectOptions): OutputDialect => {
  const hasTools = request.tools.length > 0;
  const chosen = chooseMode({ headers, client, hasTools, defaultMode: settings.mode });
  if (chosen.mode === 'openai-json') return { chosen, stop: null, transform: (events) => events };
  const stop = stopRules(settings, hasTools ? 'items' : 'blocks');
  if (hasTools) {
    const { onNativeOnly } = settings;
    return { chosen, stop, transform: (events) => addBlocks(events, { ids, onNativeOnly }) };
  }
  const readsCalls = chosen.isExplicit && promptMarker(request) !== null;
  return { chosen, stop, transform: (events) => (readsCalls ? callsFromBlocks(events, ids) : events) };
};

/** The part of a dialect that concerns the run of the turn and the head of the answer. */
export const toApiDialect = ({ chosen, stop }: OutputDialect, clock: Clock): ApiDialect => ({
  mode: chosen.mode,
  headers: modeHeader(chosen),
  stopEarly:
    stop === null ? null : (events, cancelTurn) => stopAfterTools(events, stop, { clock, cancelTurn }),
});

const MODES = ['openai-json', 'obsidian-xml'] as const;
/** How calls are sent: as native tool calls, or also as `<use_tool>` blocks in the text. */
type OutputMode = (typeof MODES)[number];
const MODE_HEADER = 'x-proxy-output-mode';

interface ChosenMode {
  readonly mode: OutputMode;
  /** The request names the mode. */
  readonly isExplicit: boolean;
}

interface ModeOptions {
  readonly headers: Headers;
  readonly client: DetectedClient;
  readonly hasTools: boolean;
  /** The configured mode, if neither the request nor the client decides. */
  readonly defaultMode: OutputMode;
}

/**
 * Chooses the mode: by header, else by client, else as configured. Without tools, Obsidian Copilot's prompt asks the
 * model for blocks. With tools it would display a block to the user, so it never gets blocks then.
 */
const chooseMode = ({ headers, client, hasTools, defaultMode }: ModeOptions): ChosenMode => {
  const requested = headers.get(MODE_HEADER);
  if (requested !== null) {
    const mode = MODES.find((one) => one === requested);
    if (mode === undefined) throw invalidChoice(MODE_HEADER, requested, MODES);
    return { mode, isExplicit: true };
  }
  if (client.name !== 'obsidian-copilot') return { mode: defaultMode, isExplicit: false };
  return { mode: hasTools ? 'openai-json' : 'obsidian-xml', isExplicit: false };
};

/** The response header that names the mode, if the request named it or it is not the default. */
export const modeHeader = ({ mode, isExplicit }: ChosenMode): Readonly<Record<string, string>> =>
  mode === 'obsidian-xml' || isExplicit ? { [MODE_HEADER]: mode } : {};

/** Starts each message after the first with a blank line, for clients that concatenate the messages of an answer. */
export async function* separateMessages(events: AsyncIterable<TurnEvent>): AsyncGenerator<TurnEvent> {
  /** The first message with text, which needs no separator. */
  let first: string | null = null;
  const separated = new Set<string>();
  for await (const event of events) {
    if (event.type === 'item-delta' && event.at === 'text') {
      if (event.delta !== '') first ??= event.itemId;
      const says = event.delta !== '' || event.annotation !== undefined;
      const begins = says && first !== null && event.itemId !== first && !separated.has(event.itemId);
      if (begins) separated.add(event.itemId);
      yield separated.has(event.itemId) ? separatedDelta(event, begins ? SEPARATOR : '') : event;
    } else if (event.type === 'item-ended' && isMessage(event.item) && separated.delete(event.item.id)) {
      yield { ...event, item: separatedMessage(event.item) };
    } else yield event;
  }
}

const separatedDelta = (event: ItemDelta, before: string): ItemDelta => ({
  ...event,
  delta: before + event.delta,
  ...(event.annotation === undefined ? {} : { annotation: moved(event.annotation) }),
});

const separatedMessage = (message: Produced<Message>): Produced<Message> => {
  const place = message.parts.findIndex(({ kind }) => kind === 'text');
  const part = message.parts[place];
  return part === undefined ? message : { ...message, parts: message.parts.with(place, separatedPart(part)) };
};

const separatedPart = (part: Part): Part =>
  part.kind === 'text'
    ? {
        ...part,
        text: SEPARATOR + part.text,
        ...(part.annotations === undefined ? {} : { annotations: part.annotations.map(moved) }),
      }
    : part;

const moved = (annotation: Json): Json => movedAnnotation(annotation, SEPARATOR.length);
