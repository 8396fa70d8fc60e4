// What the theme leaves out for readers who use no mouse or hear the page: a name for the search,
// and keys that reach whatever scrolls sideways.
document$.subscribe(() => {
  document.querySelector(".md-search").setAttribute("aria-label", "Search");
  const wide = ".md-typeset__scrollwrap, .highlight-ipynb, .jp-RenderedText, .jp-RenderedHTML";
  document.querySelectorAll(wide).forEach((element) => (element.tabIndex = 0));
});
