import { findCodexBinary } from '../codex/binary.ts';
import { VERSION } from '../version.ts';

export const versionText = (): string => `codex-app-server-proxy ${VERSION}, ${codexVersion()}\n`;

/** A missing codex is no reason not to say what is there. */
const codexVersion = (): string => {
  try {
    return `codex ${findCodexBinary().version}`;
  } catch {
    return 'codex not found';
  }
};
