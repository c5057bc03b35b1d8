/** The Markdown pages of the repository, their code blocks and their links. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../bin/launch.mjs";

export interface Block {
  readonly page: string;
  /** Line of the page on which it begins, from 1. */
  readonly line: number;
  readonly language: string;
  readonly text: string;
  /** Why it is not run: `<!-- not run: … -->` on the line before it. */
  readonly excuse: string | null;
}

const FOLDERS = ["docs", "examples", "bench", "deploy", "client", "tests/oracles"];
const BLOCK =
  /(?:^<!-- not run: (?<excuse>[^>]+) -->\n\n?)?^```(?<language>\w+)[^\n]*\n(?<text>[^]*?)^```$/gm;

/** Paths from the root, with slashes. */
export function pages(): string[] {
  const all = readdirSync(ROOT).filter((name) => name.endsWith(".md"));
  for (const folder of FOLDERS) {
    let names: string[] = [];
    try {
      names = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" });
    } catch {
      continue; // not every checkout has every folder
    }
    all.push(...names.filter((name) => name.endsWith(".md")).map((name) => `${folder}/${name}`));
  }
  return all.sort();
}

export const textOf = (page: string): string => readFileSync(join(ROOT, page), "utf8");

export function blocksOf(page: string): Block[] {
  const text = textOf(page);
  return [...text.matchAll(BLOCK)].map(({ index, groups }) => ({
    page,
    line: text.slice(0, index).split("\n").length,
    language: groups!["language"]!,
    text: groups!["text"]!,
    excuse: groups!["excuse"]?.replaceAll(/\s+/g, " ") ?? null,
  }));
}

/** Targets of the page's links and pictures, without those that lead out of the repository. */
export function linksOf(page: string): string[] {
  const text = textOf(page).replaceAll(/^```[^]*?^```$/gm, "").replaceAll(/`[^`\n]*`/g, "");
  const targets = [
    ...[...text.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1]!),
    ...[...text.matchAll(/(?:src|srcset|href)="([^"]+)"/g)].map((match) => match[1]!),
  ];
  return targets.filter((target) => !/^(https?|mailto):/.test(target));
}

/** The ids that GitHub gives to a page's headings. */
export function anchorsOf(page: string): Set<string> {
  const text = textOf(page).replaceAll(/^```[^]*?^```$/gm, "");
  const seen = new Map<string, number>();
  const anchors = new Set<string>();
  for (const [, heading] of text.matchAll(/^#+ (.+)$/gm)) {
    const id = heading!.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-");
    const count = seen.get(id) ?? 0;
    seen.set(id, count + 1);
    anchors.add(count === 0 ? id : `${id}-${count}`);
  }
  return anchors;
}
