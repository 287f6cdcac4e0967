import { z } from 'zod';

import { gatewayError, type GatewayError } from '../../../canonical/failure/failure.ts';
import { isJsonObject, type JsonObject } from '../../../kit/json/json.ts';
import type { Ambient } from '../../../kit/ambient.ts';
import { quoted } from '../../../kit/text/display.ts';
import { parseBody } from '../../../apis/validation.ts';
import { metadata } from '../../../openai/shared/field-schemas.ts';
import { agentError } from '../failures.ts';
import type { SavedAgentRow, SavedAgentStore } from '../store/port.ts';
import type { AgentObject, AgentSettings } from './objects.ts';
import { readAgent } from './read-agent.ts';
import type { AgentCaller, ListPage, SavedAgents, WrittenAgent } from './service.ts';
import { seconds } from './session-state.ts';
import { listPage, askedPage } from './list-pages.ts';

const extraSchema = z.looseObject({ metadata: metadata.nullish() });

export const unknownAgent = (id: string): GatewayError =>
  agentError('unknown_agent', { message: `Agent with id '${quoted(id)}' not found.` });

interface StoredAgent extends AgentSettings {
  readonly metadata: Readonly<Record<string, string>>;
  /** Milliseconds. */
  readonly updatedAt: number;
}

const readStored = ({ body }: SavedAgentRow): StoredAgent => JSON.parse(body) as StoredAgent;

/** What a session copies of a saved agent. */
export const agentOf = (row: SavedAgentRow): AgentSettings => {
  const { metadata: _, updatedAt: __, ...settings } = readStored(row);
  return settings;
};

const show = (row: SavedAgentRow): AgentObject => {
  const { metadata: pairs, updatedAt, ...settings } = readStored(row);
  return {
    id: row.id,
    object: 'agent',
    ...settings,
    metadata: pairs,
    created_at: seconds(row.createdAt),
    updated_at: seconds(updatedAt),
  };
};

export interface StoredAgentsOptions {
  readonly store: SavedAgentStore;
  readonly ambient: Ambient;
  readonly ttlMs: number;
  /** Rejects if nothing more is stored for the key. */
  readonly mayKeep: (keyId: string) => Promise<void>;
  /** Rejects if the key may not use the model. */
  readonly checkModel: (keyId: string, model: string, param: string) => Promise<void>;
}

/** Agents that sessions are made from. */
export class StoredAgents implements SavedAgents {
  readonly #options: StoredAgentsOptions;

  constructor(options: StoredAgentsOptions) {
    this.#options = options;
  }

  async create({ keyId }: AgentCaller, body: unknown): Promise<WrittenAgent> {
    const { store, ambient, ttlMs, mayKeep, checkModel } = this.#options;
    const { stored, ignored } = this.#read(body, null);
    await checkModel(keyId, stored.model, 'model');
    await mayKeep(keyId);
    const createdAt = ambient.clock.now();
    const row = { id: ambient.ids.mint('agent'), createdAt, body: JSON.stringify(stored) };
    await store.add({ ...row, owner: keyId, expiresAt: createdAt + ttlMs });
    return { agent: show(row), ignored };
  }

  async retrieve({ keyId }: AgentCaller, agentId: string): Promise<AgentObject> {
    return show(await this.#find(keyId, agentId));
  }

  async list({ keyId }: AgentCaller, query: URLSearchParams): Promise<ListPage<AgentObject>> {
    const page = askedPage(query);
    const rows = await this.#options.store.list(keyId, { ...page, limit: page.limit + 1 });
    return listPage(rows, page, show);
  }

  async update({ keyId }: AgentCaller, agentId: string, body: unknown): Promise<WrittenAgent> {
    const { store, ambient, ttlMs, mayKeep, checkModel } = this.#options;
    for (;;) {
      const row = await this.#find(keyId, agentId);
      const { stored, ignored } = this.#read(body ?? {}, row);
      if (stored.model !== readStored(row).model) await checkModel(keyId, stored.model, 'model');
      await mayKeep(keyId);
      const to = { from: row.body, body: JSON.stringify(stored), expiresAt: ambient.clock.now() + ttlMs };
      if (await store.update(keyId, agentId, to)) return { agent: show({ ...row, body: to.body }), ignored };
    }
  }

  async delete({ keyId }: AgentCaller, agentId: string): Promise<void> {
    if (!(await this.#options.store.delete(keyId, agentId))) throw unknownAgent(agentId);
  }

  async #find(keyId: string, agentId: string): Promise<SavedAgentRow> {
    const { store, ambient, ttlMs } = this.#options;
    const row = await store.find(keyId, agentId, ambient.clock.now() + ttlMs);
    if (row === null) throw unknownAgent(agentId);
    return row;
  }

  #read(
    body: unknown,
    row: SavedAgentRow | null,
  ): { readonly stored: StoredAgent; readonly ignored: readonly string[] } {
    if (!isJsonObject(body)) {
      throw gatewayError('invalid_type', { message: 'Invalid body: expected a JSON object.' });
    }
    const fields: JsonObject = body;
    const given = parseBody(extraSchema, fields).metadata;
    const { settings, ignored } = readAgent(fields, row === null ? null : agentOf(row), '');
    const base = row === null ? {} : readStored(row).metadata;
    return {
      stored: {
        ...settings,
        metadata: given === undefined ? base : (given ?? {}),
        updatedAt: this.#options.ambient.clock.now(),
      },
      ignored: ignored.filter((name) => name !== 'metadata'),
    };
  }
}
