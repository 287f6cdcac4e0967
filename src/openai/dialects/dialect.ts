import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { IdSource } from '../../kit/ambient.ts';
import { promptMark } from '../clients/prompt-marks.ts';
import type { ClientSeen } from '../clients/recognise.ts';
import type { Dialect as ApiDialect } from '../../turns/api.ts';
import { chooseMode, modeHeader, type ChosenMode, type OutputMode } from './choose-mode.ts';
import { tellBlocks } from './obsidian-xml.ts';
import { reportBlocks } from './report-blocks.ts';
import { stopRules, type StopRules, type StopSettings } from './stop-rules.ts';
import { stopAfterTools } from './stop-after-tools.ts';
import type { NoBlock } from './use-tool-block.ts';

/** What a deployment decides about the dialects of one API. */
export interface DialectSettings extends StopSettings {
  readonly mode: OutputMode;
  readonly onNativeOnly: (why: NoBlock) => void;
}

/** How one answer is told. */
export interface Dialect {
  readonly chosen: ChosenMode;
  /** When it ends early; null: when the model ends it. */
  readonly stop: StopRules | null;
  /** A transform before the layout of Responses, or after that of Chat. */
  readonly tell: (events: AsyncIterable<TurnEvent>) => AsyncIterable<TurnEvent>;
}

export interface DialectOf {
  readonly headers: Headers;
  readonly client: ClientSeen;
  readonly request: TurnRequest;
  readonly settings: DialectSettings;
  readonly ids: IdSource;
}

/**
 * With declared tools the model calls natively, and blocks are added. Without, the model may have been
 * told to write blocks: they are its text, and calls only for a client that asked for that.
 */
export const dialectOf = ({ headers, client, request, settings, ids }: DialectOf): Dialect => {
  const hasTools = request.tools.length > 0;
  const chosen = chooseMode({ headers, client, hasTools, standard: settings.mode });
  if (chosen.mode === 'openai-json') return { chosen, stop: null, tell: (events) => events };
  const stop = stopRules(settings, hasTools ? 'items' : 'blocks');
  if (hasTools) {
    const { onNativeOnly } = settings;
    return { chosen, stop, tell: (events) => tellBlocks(events, { ids, onNativeOnly }) };
  }
  const reports = chosen.isAsked && promptMark(request) !== null;
  return { chosen, stop, tell: (events) => (reports ? reportBlocks(events, ids) : events) };
};

/** The part of a dialect that concerns the run of the turn and the head of the answer. */
export const toApiDialect = ({ chosen, stop }: Dialect): ApiDialect => ({
  mode: chosen.mode,
  headers: modeHeader(chosen),
  stopEarly: stop === null ? null : (events, how) => stopAfterTools(events, stop, how),
});
