/** No page links to a file or a heading that is not there. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join, posix } from "node:path";
import { ROOT } from "../../bin/launch.mjs";
import { anchorsOf, linksOf, pages } from "./markdown.ts";

test("there are pages to look at", () => {
  expect(pages()).toContain("README.md");
  expect(pages()).toContain("docs/http_api.md");
  expect(pages().flatMap(linksOf).length).toBeGreaterThan(50);
});

test.each(pages())("%s has no dead link", (page) => {
  const dead = linksOf(page).filter((link) => {
    const [path, anchor] = link.split("#");
    const target = path === "" ? page : posix.normalize(posix.join(posix.dirname(page), path!));
    if (!existsSync(join(ROOT, target))) return true;
    return anchor !== undefined && target.endsWith(".md") && !anchorsOf(target).has(anchor);
  });
  expect(dead).toEqual([]);
});
