import { z } from 'zod';

import { list } from '../../apis/bounds.ts';
import { metadata } from '../shared/field-schemas.ts';

/** OpenAI's limit for one request. */
const MAX_NEW_ITEMS = 20;

export const createConversationSchema = z.object({
  items: list(MAX_NEW_ITEMS).nullish(),
  metadata: metadata.nullish(),
});

/** Null is a value of `metadata`, but the field must be there. */
export const updateMetadataSchema = z.object({ metadata: metadata.nullable() });

export const addItemsSchema = z.object({ items: list(MAX_NEW_ITEMS) });
