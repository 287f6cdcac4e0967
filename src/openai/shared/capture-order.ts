import { z } from 'zod';

import { unreadFields } from '../../apis/unread-fields.ts';
import { parseBody } from '../../apis/validation.ts';
import { bodyObject } from '../chat/common.ts';

const MAX_REQUESTS = 100;
const MAX_KEY_ID_CHARS = 200;

const orderSchema = z.object({
  requests: z.int().min(1).max(MAX_REQUESTS),
  key_id: z.string().min(1).max(MAX_KEY_ID_CHARS).nullish(),
});

/** Parses the body that has the next requests captured. */
export const readCaptureOrder = (body: unknown) => {
  const object = bodyObject(body);
  const { requests, key_id: keyId } = parseBody(orderSchema, object);
  return { order: { requests, keyId: keyId ?? null }, ignored: unreadFields(orderSchema, object, '') };
};
