import { findCodexBinary } from '../codex/binary.ts';
import { VERSION } from '../version.ts';

export const versionText = (): string => `codex-app-server-proxy ${VERSION}, ${codexVersion()}\n`;

/** If codex is missing, the other versions are still printed. */
const codexVersion = (): string => {
  try {
    return `codex ${findCodexBinary().version}`;
  } catch {
    return 'codex not found';
  }
};
