/**
 * Reads the fields of one JSON object that a person wrote: each must be there or have a default, be of
 * its kind and within its bounds. Errors name the field by its path and what it takes.
 */
import { closest } from "./closest.ts";
import { type ErrorCode, GanglionError } from "./errors.ts";

type Json = Readonly<Record<string, unknown>>;

export class FieldReader {
  readonly #json: Json;
  /** What stands before a field's name: a file, then the object's own path. */
  readonly #file: string;
  readonly #prefix: string;
  readonly #code: ErrorCode;

  /** Every error has that code. */
  constructor(json: unknown, file: string, code: ErrorCode, prefix = "") {
    this.#file = file;
    this.#code = code;
    this.#prefix = prefix;
    if (typeof json !== "object" || json === null || Array.isArray(json)) {
      const what = prefix === "" ? "it" : `"${prefix.slice(0, -1)}"`;
      throw this.#invalid(`${what} must be an object, not ${shown(json)}`, prefix.slice(0, -1));
    }
    this.#json = json as Json;
  }

  /** Refuses fields that are not in the list. */
  only(names: readonly string[], what: string): void {
    for (const name of Object.keys(this.#json)) {
      if (names.includes(name)) continue;
      const near = closest(name, names);
      const hint = near ? `; did you mean "${near}"?` : `; it has ${names.join(", ")}`;
      throw this.#invalid(
        `"${this.#prefix}${name}" is no field of ${what}${hint}`,
        this.#prefix + name,
      );
    }
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#json, name);
  }

  /** The field as it is. */
  raw(name: string): unknown {
    return this.has(name) ? this.#json[name] : undefined;
  }

  names(): string[] {
    return Object.keys(this.#json);
  }

  /** The object in a field. */
  inner(name: string): FieldReader {
    return this.#under(this.raw(name), name);
  }

  /** The objects of a list. */
  list(name: string): FieldReader[] {
    const value = this.raw(name);
    if (!Array.isArray(value)) throw this.wrong(name, "must be a list");
    return value.map((each, i) => this.#under(each, `${name}[${i}]`));
  }

  whole(name: string, min: number, max: number, fallback?: number): number {
    const value = this.#given(name, fallback);
    if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) {
      return value as number;
    }
    throw this.wrong(name, `must be a whole number from ${min} to ${max}`);
  }

  number(name: string, fallback?: number): number {
    const value = this.#given(name, fallback);
    if (typeof value === "number" && Number.isFinite(value)) return value;
    throw this.wrong(name, "must be a number");
  }

  flag(name: string, fallback: boolean): boolean {
    const value = this.#given(name, fallback);
    if (typeof value === "boolean") return value;
    throw this.wrong(name, "must be true or false");
  }

  choice<const T extends string>(name: string, choices: readonly T[], fallback?: T): T {
    const value = this.#given(name, fallback);
    const found = choices.find((each) => each === value);
    if (found !== undefined) return found;
    const near = typeof value === "string" ? closest(value, choices) : undefined;
    throw this.wrong(name, `must be ${choices.join(", ")}`, near);
  }

  /** The name of a file beside this one: no path, so that a run folder can be moved. */
  fileName(name: string, fallback?: string): string {
    const value = this.#given(name, fallback);
    const plain = typeof value === "string" && /^[^/\\]+$/.test(value) && !/^\.+$/.test(value);
    if (plain) return value;
    throw this.wrong(name, "must be the name of a file in the same folder");
  }

  texts(name: string): readonly string[] {
    const value = this.#given(name, undefined);
    if (Array.isArray(value) && value.every((each) => typeof each === "string")) return value;
    throw this.wrong(name, "must be a list of texts");
  }

  /** The error that a field is not what it must be. */
  wrong(name: string, wanted: string, near?: string): GanglionError {
    const given = this.has(name) ? `, not ${shown(this.#json[name])}` : ", and is missing";
    const hint = near ? `; did you mean "${near}"?` : "";
    const path = this.#prefix + name;
    return this.#invalid(`"${path}" ${wanted}${given}${hint}`, path);
  }

  #under(json: unknown, place: string): FieldReader {
    return new FieldReader(json, this.#file, this.#code, `${this.#prefix}${place}.`);
  }

  #invalid(text: string, field: string): GanglionError {
    return new GanglionError(this.#code, `${this.#file}: ${text}`, { field });
  }

  #given(name: string, fallback: unknown): unknown {
    return this.has(name) ? this.#json[name] : fallback;
  }
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? "nothing").slice(0, 60);
}
