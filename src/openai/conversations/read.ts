import { z } from 'zod';

import { isCompactionTrigger } from '../../canonical/request/compaction.ts';
import { gatewayError } from '../../canonical/failure/failure.ts';
import type { Item } from '../../canonical/request/item.ts';
import { bodyObject } from '../chat/common.ts';
import { readInput, referencesIn } from '../responses/input/input-items.ts';
import type { Recall } from '../responses/input/item-references.ts';
import { unreadFields, parseBody } from '../../apis/validation.ts';
import { list } from '../../apis/bounds.ts';
import { metadata as metadataField } from '../shared/field-schemas.ts';

/** OpenAI's limit for one request. */
const MAX_NEW_ITEMS = 20;

const createConversationSchema = z.object({
  items: list(MAX_NEW_ITEMS).nullish(),
  metadata: metadataField.nullish(),
});

/** Null is a value of `metadata`, but the field must be there. */
const updateMetadataSchema = z.object({ metadata: metadataField.nullable() });

const addItemsSchema = z.object({ items: list(MAX_NEW_ITEMS) });

/** New items of a conversation. What they refer to has to be loaded before they are read. */
export interface NewItems {
  /** The ids of earlier items that they refer to. */
  readonly references: readonly string[];
  /** Throws if an item is invalid. */
  readonly read: (recall: Recall) => ReadNewItems;
}

export interface ReadNewItems {
  readonly items: readonly Item[];
  readonly ignored: readonly string[];
}

interface NewConversation extends NewItems {
  readonly metadata: Readonly<Record<string, string>>;
}

/** Throws if a field is invalid. */
export const readNewConversation = (body: unknown): NewConversation => {
  const { parsed, ignored } = readFields(createConversationSchema, body);
  return { ...newItems(parsed.items ?? [], ignored), metadata: parsed.metadata ?? {} };
};

export const readNewItems = (body: unknown): NewItems => {
  const { parsed, ignored } = readFields(addItemsSchema, body);
  return newItems(parsed.items, ignored);
};

interface NewMetadata {
  readonly metadata: Readonly<Record<string, string>>;
  readonly ignored: readonly string[];
}

/** The body that replaces the metadata of a conversation, or of a stored chat completion. */
export const readNewMetadata = (body: unknown): NewMetadata => {
  const { parsed, ignored } = readFields(updateMetadataSchema, body);
  return { metadata: parsed.metadata ?? {}, ignored };
};

const readFields = <S extends z.ZodType>(schema: S, body: unknown) => {
  const object = bodyObject(body);
  return { parsed: parseBody(schema, object), ignored: unreadFields(schema, object, '') };
};

const newItems = (values: readonly unknown[], ignored: readonly string[]): NewItems => ({
  references: referencesIn(values),
  read(recall) {
    const { items, places, unread } = readInput(values, recall, 'items');
    rejectTrigger(items, places);
    return { items, ignored: [...ignored, ...unread] };
  },
});

/** It asks for a compaction of the request that it is in. */
const rejectTrigger = (items: readonly Item[], places: readonly string[]): void => {
  const index = items.findIndex(isCompactionTrigger);
  if (index === -1) return;
  const param = places[index] ?? 'items';
  throw gatewayError('invalid_value', {
    param,
    message: `Invalid '${param}': a compaction_trigger belongs to the input of a response, not to a conversation.`,
  });
};

/** A conversation as it is stored. */
interface ShownConversation {
  readonly id: string;
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
  readonly metadata: Readonly<Record<string, string>>;
}

export const projectConversation = ({ id, createdAt, metadata }: ShownConversation) => ({
  id,
  object: 'conversation' as const,
  created_at: Math.floor(createdAt / 1000),
  metadata,
});

export const projectDeletedConversation = (id: string) => ({
  id,
  object: 'conversation.deleted' as const,
  deleted: true,
});
