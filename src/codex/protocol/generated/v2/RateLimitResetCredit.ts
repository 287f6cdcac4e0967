// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { RateLimitResetCreditStatus } from "./RateLimitResetCreditStatus.ts";
import type { RateLimitResetType } from "./RateLimitResetType.ts";

export type RateLimitResetCredit = {
/**
 * Opaque backend identifier for this reset credit.
 */
id: string, resetType: RateLimitResetType, status: RateLimitResetCreditStatus,
/**
 * Unix timestamp in seconds when the credit was granted.
 */
grantedAt: number,
/**
 * Unix timestamp in seconds when the credit expires, or `null` if it does not expire.
 */
expiresAt: number | null,
/**
 * Backend-provided display title for this credit, or `null` when unavailable.
 */
title: string | null,
/**
 * Backend-provided display description for this credit, or `null` when unavailable.
 */
description: string | null, };
