import path from 'node:path';

import { openCodexBinary } from '../../codex/binary.ts';
import { authOf } from '../../codex/home/access-token.ts';
import { readWholeLogin } from '../../codex/home/login-file.ts';
import { readLogin } from '../../codex/login/read-login.ts';
import type { Config } from '../../config/schema.ts';
import { loginHomeOf } from '../login-home.ts';

const OPENAI = 'https://api.openai.com/v1';

/** The URL of the backend's model list, which costs nothing. Null if the backend is inside this server. */
export const backendUrl = async (config: Config): Promise<string | null> => {
  if (config.upstream.baseUrl !== null) return `${config.upstream.baseUrl}/models`;
  const { accessToken } = config.upstream;
  const auth =
    accessToken === null
      ? await readWholeLogin(path.join(loginHomeOf(config), 'auth.json'))
      : authOf(accessToken);
  const login = auth === null ? null : readLogin(auth);
  if (login === null) return null;
  if (login.kind === 'api-key') return `${OPENAI}/models`;
  const { version } = await openCodexBinary(config.codex.binary);
  return `${config.upstream.chatgptBaseUrl}/codex/models?client_version=${version}`;
};
