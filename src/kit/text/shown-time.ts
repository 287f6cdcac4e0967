/** `2026-11-16 14:05 UTC` */
export const shownTime = (date: Date): string => `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
