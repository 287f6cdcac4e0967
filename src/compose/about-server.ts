import { describeState, loginName, type BackendState, type BannerFacts } from './banner.ts';
import type { PageFacts } from '../http/front.ts';
import type { OwnKey } from '../http/guards/own-secrets.ts';
import { assertNever } from '../kit/assert-never.ts';
import { shellQuoted } from '../kit/text/display.ts';

type AboutServer = Pick<PageFacts, 'backend' | 'key' | 'keyInCommand'>;

/** The key as the banner shows it. A key is shown only by the start that created it. */
export const shownKey = (own: OwnKey | null, platform: string): BannerFacts['key'] => {
  if (own === null) return { description: 'one of PROXY_API_KEY', inCommand: '<key>' };
  if (own.isNew)
    return { description: `${own.key} (shown this once; kept in ${own.file})`, inCommand: own.key };
  const read = platform === 'win32' ? 'Get-Content' : 'cat';
  return {
    description: `in the file ${own.file}`,
    inCommand: `$(${read} ${shellQuoted(own.file, platform)})`,
  };
};

/** The facts for the page in a browser. It never shows the key; paths and addresses only on this machine. */
export const aboutServer = (state: BackendState, own: OwnKey | null, isLocal: boolean): AboutServer => {
  const key = shownKey(own === null ? null : { ...own, isNew: false }, process.platform);
  if (isLocal) return { backend: describeState(state), key: key.description, keyInCommand: key.inCommand };
  const where = own === null ? 'one of PROXY_API_KEY' : 'in the file api-key of its state directory';
  return {
    backend: withoutAddress(state),
    key: `ask the operator of this server: ${where}`,
    keyInCommand: '<key>',
  };
};

const withoutAddress = (state: BackendState): string => {
  switch (state.kind) {
    case 'upstream':
      return 'a provider';
    case 'login':
      return `a Codex login (${loginName(state)})`;
    case 'demo':
    case 'signed-out':
      return describeState(state);
    default:
      return assertNever(state);
  }
};
