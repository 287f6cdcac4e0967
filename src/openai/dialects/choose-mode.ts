import type { ClientSeen } from '../clients/recognise.ts';
import { invalidChoice } from '../shared/validation.ts';

const MODES = ['openai-json', 'obsidian-xml'] as const;
/** How calls are told: natively, or also as `<use_tool>` blocks in the text. */
export type OutputMode = (typeof MODES)[number];
const MODE_HEADER = 'x-proxy-output-mode';

export interface ChosenMode {
  readonly mode: OutputMode;
  /** The request names it. */
  readonly isAsked: boolean;
}

export interface ModeWishes {
  readonly headers: Headers;
  readonly client: ClientSeen;
  readonly hasTools: boolean;
  /** What the deployment gives to whom nothing else decides for. */
  readonly standard: OutputMode;
}

/**
 * The header, else who asks, else the deployment. Obsidian Copilot without tools has told its model to
 * write blocks; with tools it would show a block to its user, so seeing it never turns blocks on there.
 */
export const chooseMode = ({ headers, client, hasTools, standard }: ModeWishes): ChosenMode => {
  const asked = headers.get(MODE_HEADER);
  if (asked !== null) {
    const mode = MODES.find((one) => one === asked);
    if (mode === undefined) throw invalidChoice(MODE_HEADER, asked, MODES);
    return { mode, isAsked: true };
  }
  if (client.family !== 'obsidian-copilot') return { mode: standard, isAsked: false };
  return { mode: hasTools ? 'openai-json' : 'obsidian-xml', isAsked: false };
};

/** Says how an answer was told, to whom that is not a matter of course. */
export const modeHeader = ({ mode, isAsked }: ChosenMode): Readonly<Record<string, string>> =>
  mode === 'obsidian-xml' || isAsked ? { [MODE_HEADER]: mode } : {};
