/** Identifiers nobody can guess. The only reader of real chance besides seeded generators. */

/** Gives a new identifier each time. Injected, so that tests know them beforehand. */
export type IdSource = () => string;

const BYTES = 16;

/** 128 random bits in base64url, 22 characters. */
export const randomId: IdSource = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
};
