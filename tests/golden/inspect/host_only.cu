int main() { return 0; }  // expect CT104: no kernel and no launch here; the file stays as it is
