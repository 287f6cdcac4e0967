import { writeFile } from 'node:fs/promises';
import path from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json.ts';
import { startAppServer } from '../support/app-server-client.ts';
import { openCodexRoom } from '../support/codex-exec.ts';
import { startProxy } from '../support/proxy.ts';
import { hello } from '../support/scripts.ts';
import { makeTokens, accountOf } from './login.ts';
import { startChatGptProxy, type ChatGptProxy } from './proxy.ts';
