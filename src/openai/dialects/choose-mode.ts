import type { DetectedClient } from '../../apis/clients/detect-client.ts';
import { invalidChoice } from '../../apis/validation.ts';

const MODES = ['openai-json', 'obsidian-xml'] as const;
/** How calls are sent: as native tool calls, or also as `<use_tool>` blocks in the text. */
export type OutputMode = (typeof MODES)[number];
const MODE_HEADER = 'x-proxy-output-mode';

export interface ChosenMode {
  readonly mode: OutputMode;
  /** The request names the mode. */
  readonly isExplicit: boolean;
}

export interface ModeOptions {
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
export const chooseMode = ({ headers, client, hasTools, defaultMode }: ModeOptions): ChosenMode => {
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
